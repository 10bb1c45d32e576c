# frozen_string_literal: true

# The figures of the swarm, its nodes and its supervisor, from what `skep status --json` tells.
#
#   Readings.new(exposition).put(status, took: 0.002)
#
# What its nodes work on is told by WorkReadings.
module Skep
  module Watch
    module Metrics
      class Readings
        SWARM = %w[booting running quiet stopping stopped].freeze
        NODE = %w[waiting booting ready quiet stopping dead spare].freeze
        # Told from the first on, that their increase can be seen.
        CRASHES = %w[signal failure oom hung unhealthy].freeze
        private_constant :SWARM, :NODE, :CRASHES

        def initialize(exposition) #: (Exposition) -> void
          @exposition = exposition
        end

        # took: seconds for the answer.
        def put(status, took:) #: (Hash[String, untyped], took: Float) -> void
          swarm(status)
          status["nodes"].each { |node| node(node) }
          supervisor(status["supervisor"])
          status["events"].each { |name, count| say("events_total", count, event: name) }
          say("recovery_seconds", status["recovery"])
          say("answer_seconds", took.round(6))
        end

        private

        def say(name, value, **labels) = @exposition.put("skep_#{name}", value, **labels)

        def swarm(status)
          say("build_info", 1, swarm: status["name"], version: status["skep"], ruby: status["ruby"])
          say("uptime_seconds", status["uptime"])
          SWARM.each { |state| say("swarm_state", status["state"] == state, state:) }
          say("crash_loop", status["crash_loop"])
          say("suspects", status["suspects"].size)
          nodes(status["nodes"])
        end

        def nodes(nodes)
          say("nodes_wanted", nodes.count { |node| node["task"] })
          NODE.each { |state| say("nodes", nodes.count { |node| node["state"] == state }, state:) }
        end

        def node(facts)
          node = facts["id"]
          NODE.each { |state| say("node_state", facts["state"] == state, node:, state:) }
          condition(facts, node)
          use(facts, node)
          ends(facts, node)
        end

        def condition(facts, node)
          say("node_joined", facts["joined"], node:)
          say("node_crash_loop", facts["crash_loop"], node:)
          say("node_unhealthy", !facts["unhealthy"].nil?, node:)
          say("node_mold", facts["mold"], node:)
          say("node_beat_age_seconds", facts["beat_age"], node:)
        end

        def use(facts, node)
          %w[rss pss uss shared swap].each do |kind|
            say("node_memory_bytes", facts["memory"]&.fetch(kind, nil), node:, kind:)
          end
          say("node_cpu_seconds_total",
              facts["pid"] && OS::ProcessState.cpu_seconds(facts["pid"]), node:)
          say("node_done_total", facts.dig("work", "done"), node:)
        end

        def ends(facts, node)
          (CRASHES | facts["restarts_by"].keys).each do |reason|
            say("node_restarts_total", facts["restarts_by"].fetch(reason, 0), node:, reason:)
          end
          facts["deaths"].each { |at, count| say("node_deaths_total", count, node:, at:) }
        end

        def supervisor(facts)
          say("supervisor_memory_bytes", facts.dig("memory", "rss"), kind: "rss")
          say("supervisor_descriptors", facts["descriptors"])
          say("supervisor_cpu_seconds_total", facts["cpu"])
        end
      end
    end
  end
end
