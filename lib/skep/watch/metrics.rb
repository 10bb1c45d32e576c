# frozen_string_literal: true

# Metrics for Prometheus, and /healthz and /readyz for who keeps the swarm, by HTTP at the address
# of the option `metrics:` (docs/metrics.md).
#
#   Skep.swarm "billing", metrics: "127.0.0.1:9394" do |swarm| … end
#
# | who | does what |
# |---|---|
# | supervisor | binds the address and keeps it while helpers come and go: Door |
# | mold | loads what it takes to serve: `prepare` |
# | helper | serves, and asks the supervisor for each scrape: `start` |
#
# The HTTP is Puma's, a gem that only who asks for metrics needs. Nothing is counted here: all
# figures are the supervisor's, and outlive every helper.
module Skep
  module Watch
    module Metrics
      PARTS = %w[catalog exposition readings work_readings facts readiness app gate server].freeze
      OLDEST = 6
      private_constant :PARTS, :OLDEST

      # What it takes to serve isn't there.
      class Unservable < Skep::Error
        def initialize(what:)
          super("metrics: #{what}: add `gem \"puma\", \">= #{OLDEST}\"` to the Gemfile, " \
                "or leave the option out")
        end

        def exit_code = ExitCode::CONFIGURATION #: () -> Integer
      end

      module_function

      # Loads what serves, where metrics are asked for. Raises Unservable.
      def prepare(config) #: (Swarm::Definition::Config) -> void
        return unless config.metrics

        load_puma
        PARTS.each { |part| require "skep/watch/metrics/#{part}" }
      end

      # Serves at a socket that listens already, until it is closed. line: asks the supervisor.
      def start(socket, line) #: (BasicSocket, Swarm::Processes::SupervisorQuery) -> Server
        Server.new(App.new(Facts.new(line))).serve(socket)
      end

      def load_puma
        require "puma"
        require "puma/server"
        require "nio" # Puma's own require comes in the helper, whose user may not read the gems
        major = Puma::Const::PUMA_VERSION.to_i
        raise Unservable.new(what: "puma #{major} is too old for it") if major < OLDEST
      rescue LoadError
        raise Unservable.new(what: "it is served by the gem puma, which isn't there")
      end
      private_class_method :load_puma
    end
  end
end

require "skep/watch/metrics/address"
require "skep/watch/metrics/door"
