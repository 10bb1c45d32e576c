# frozen_string_literal: true

require "skep/plugin"
require "skep/redaction"
require "skep/swarm"

# Metrics for Prometheus, and /healthz and /readyz for an orchestrator, by HTTP at the address of
# the option `metrics:` (docs/reference/metrics.md).
#
#   Skep.swarm "billing", metrics: "127.0.0.1:9394" do |swarm| … end
#
# | process | what it does |
# |---|---|
# | supervisor | accepts the clients, answers /healthz and /readyz, and passes the others on |
# | mold | loads the server: `prepare` |
# | helper | serves what is passed on, and asks the supervisor for each scrape: `start` |
#
# Puma serves HTTP; only a swarm with metrics needs that gem. The supervisor keeps all figures, so
# they outlive each helper.
module Skep
  module Metrics
    PARTS = %w[definitions prometheus_text swarm_collector work_collector status_cache app
               puma_server].freeze
    private_constant :PARTS

    module_function

    # Loads the server if the swarm has metrics. Raises MissingGem.
    def prepare(config)
      return unless config.metrics

      load_puma
      PARTS.each { |part| require "skep/metrics/#{part}" }
    end

    # Serves the connections that come over the socket. query: asks the supervisor for its status.
    def start(socket, query)
      PumaServer.new(App.new(StatusCache.new(query))).serve_passed(socket)
    end

    def load_puma
      require "puma"
      require "puma/server"
      require "nio" # Puma would require it in the helper, whose user may not read the gems
      major = ::Puma::Const::PUMA_VERSION.to_i
      raise MissingGem.new(found: "puma #{major}") if major < MissingGem::OLDEST
    rescue LoadError
      raise MissingGem.new(found: "no puma")
    end
  end
end

require "skep/metrics/errors"
require "skep/metrics/address"
require "skep/metrics/health_check"
require "skep/metrics/passed_connections"
require "skep/metrics/probe_session"
require "skep/metrics/listener_socket"

Skep::Swarm.watch_with { Skep::Metrics::ListenerSocket.new }
Skep::Swarm.serve_with(Skep::Metrics)
