# frozen_string_literal: true

# What is served, as a Rack application:
#
# | path | answer |
# |---|---|
# | /metrics | the figures, for Prometheus; 503 if the supervisor doesn't answer |
# | /healthz | 200 if the supervisor answers, else 503 |
# | /readyz | 200 if the swarm can do its work, else 503; ?nodes=3 or ?nodes=all asks for more |
#
#   App.new(Facts.new(line), rest: page)     # rest: a Rack application for all other paths
#
# It changes nothing, whatever it is asked.
module Skep
  module Watch
    module Metrics
      class App
        TEXT = "text/plain; charset=utf-8"
        ELSEWHERE = lambda do |_env|
          [404, { "content-type" => TEXT }, ["there are /metrics, /healthz and /readyz\n"]]
        end
        private_constant :TEXT, :ELSEWHERE

        def initialize(facts, rest: ELSEWHERE) #: (Facts, ?rest: untyped) -> void
          @facts = facts
          @rest = rest
        end

        def call(env) #: (Hash[String, untyped]) -> [Integer, Hash[String, String], Array[String]]
          answer = route(env["PATH_INFO"]) or return @rest.call(env)
          return text(405, "it can only be read", "allow" => "GET, HEAD") unless read?(env)

          status, headers, body = answer.call(env["QUERY_STRING"].to_s)
          [status, headers, env["REQUEST_METHOD"] == "HEAD" ? [] : body]
        rescue Facts::Silent => e
          text(503, e.message)
        end

        private

        def route(path)
          case path
          when "/metrics" then method(:metrics)
          when "/healthz" then method(:health)
          when "/readyz" then method(:readiness)
          end
        end

        def read?(env) = %w[GET HEAD].include?(env["REQUEST_METHOD"])

        def metrics(_query)
          status = @facts.now
          exposition = Exposition.new
          Readings.new(exposition).put(status, took: @facts.took)
          WorkReadings.new(exposition).put(status)
          [200, { "content-type" => Exposition::CONTENT_TYPE }, [exposition.to_s]]
        end

        def health(_query)
          status = @facts.now
          text(200, "swarm #{status["name"]} is #{status["state"]}")
        end

        def readiness(query)
          wanted = query[/(?:\A|&)nodes=(all|\d{1,9})(?:&|\z)/, 1]
          wanted = wanted.to_i if wanted && wanted != "all"
          why = Readiness.complaint(@facts.now, nodes: wanted)
          why ? text(503, "not ready: #{why}") : text(200, "ready")
        end

        def text(status, sentence, headers = {})
          [status, { "content-type" => TEXT, **headers }, ["#{sentence}\n"]]
        end
      end
    end
  end
end
