# frozen_string_literal: true

require "json"

# Answers scrapes and health checks, as a Rack application:
#
# | path | answer |
# |---|---|
# | /metrics | all metrics, for Prometheus; 503 if the supervisor doesn't answer |
# | /status | name, state and problems, as JSON; 503 likewise |
# | /healthz | 200 if the supervisor answers, else 503 |
# | /readyz | 200 if the swarm can do its work, else 503; ?nodes=3 or ?nodes=all requires more |
#
#   App.new(status_cache).call(env)   # => [status, headers, body]
#
# No request changes anything. The supervisor answers /healthz and /readyz of new connections
# (ProbeSession). Here they are answered to a client that has asked for another path before.
module Skep
  module Metrics
    class App
      TEXT = "text/plain; charset=utf-8"
      JSON_TYPE = "application/json"
      SHOWN = %w[name state problems].freeze # of the status
      private_constant :TEXT, :JSON_TYPE, :SHOWN

      def initialize(status_cache)
        @status_cache = status_cache
      end

      def call(env)
        answer = route(env["PATH_INFO"]) or
          return text(404, "there are /metrics, /status, /healthz and /readyz")
        return text(405, "only GET and HEAD work here", "allow" => "GET, HEAD") unless read?(env)

        status, headers, body = answer.call(env["QUERY_STRING"].to_s)
        [status, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : body]
      rescue SupervisorTimeout => e
        text(503, e.message)
      end

      private

      def route(path)
        case path
        when "/metrics" then method(:metrics)
        when "/status" then method(:status)
        when *HealthCheck::PATHS then ->(query) { health(path, query) }
        end
      end

      def read?(env) = %w[GET HEAD].include?(env["REQUEST_METHOD"])

      def metrics(_query)
        status = @status_cache.read
        output = PrometheusText.new
        SwarmCollector.new(output).collect(status, duration: @status_cache.duration)
        WorkCollector.new(output).collect(status)
        [200, { "content-type" => PrometheusText::CONTENT_TYPE }, [output.to_s]]
      end

      # What is wrong with the swarm.
      def status(_query)
        facts = @status_cache.read.slice(*SHOWN)
        [200, { "content-type" => JSON_TYPE }, ["#{JSON.generate(facts, max_nesting: 0)}\n"]]
      end

      def health(path, query) = text(*HealthCheck.answer(path, query, @status_cache.read))

      def text(status, sentence, headers = {})
        [status, { "content-type" => TEXT, **headers }, ["#{sentence}\n"]]
      end
    end
  end
end
