# frozen_string_literal: true

require "skep/metrics/readiness"

# The answers of /healthz and /readyz. Pure.
#
#   HealthCheck.answer("/healthz", "", status)          # => [200, "swarm billing is running"]
#   HealthCheck.answer("/readyz", "nodes=all", status)  # => [503, "not ready: 1 of 2 nodes …"]
#   HealthCheck.answer("/metrics", "", status)          # => nil
#
# status: as in `skep status --json`; of each node only what Readiness reads is needed. The
# supervisor answers from its own facts (ProbeSession), the helper from the status (App).
module Skep
  module Metrics
    module HealthCheck
      PATHS = %w[/healthz /readyz].freeze

      module_function

      def answer(path, query, status)
        case path
        when "/healthz" then [200, "swarm #{status["name"]} is #{status["state"]}"]
        when "/readyz" then readiness(query, status)
        end
      end

      def readiness(query, status)
        wanted = query[/(?:\A|&)nodes=(all|\d{1,9})(?:&|\z)/, 1]
        wanted = wanted.to_i if wanted && wanted != "all"
        problem = Readiness.problem(status, nodes: wanted)
        problem ? [503, "not ready: #{problem}"] : [200, "ready"]
      end
      private_class_method :readiness
    end
  end
end
