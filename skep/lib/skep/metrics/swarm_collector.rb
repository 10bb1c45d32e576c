# frozen_string_literal: true

# Collects the metrics of a swarm, its nodes and its supervisor from its status, which is that of
# `skep status --json`.
#
#   SwarmCollector.new(prometheus_text).collect(status, duration: 0.002)
#
# WorkCollector collects those of the work.
module Skep
  module Metrics
    class SwarmCollector
      SWARM = %w[booting running quiet stopping stopped].freeze
      NODE = %w[waiting booting ready quiet stopping dead spare].freeze
      # Reported from the start, so that Prometheus sees their first increase.
      REASONS = %w[signal failure clean unknown fork_failed hung unhealthy oom boot_timeout
                   stop_timeout forced memory_limit memory_budget max_lifetime restart reload
                   refork unfit another_process channel_closed protocol_error].freeze
      EVENTS = %w[restart_finished restart_failed reload_finished reload_failed
                  node_died node_hung node_unhealthy crash_loop].freeze
      private_constant :SWARM, :NODE, :REASONS, :EVENTS

      def initialize(output)
        @output = output
      end

      # duration: how many seconds the supervisor took to answer.
      def collect(status, duration:)
        swarm(status)
        works(status)
        status["nodes"].each { |node| node(node) }
        supervisor(status["supervisor"])
        events(status["events"])
        add("recovery_seconds", status["recovery"])
        add("answer_seconds", duration.round(6))
      end

      private

      def add(name, value, **labels) = @output.add("skep_#{name}", value, **labels)

      def swarm(status)
        add("build_info", 1, swarm: status["name"], version: status["skep"], ruby: status["ruby"],
                             revision: status["revision"])
        add("uptime_seconds", status["uptime"])
        SWARM.each { |state| add("swarm_state", status["state"] == state, state:) }
        add("crash_loop", status["crash_loop"])
        add("suspects", status["suspects"].size)
        problems(status["problems"].to_a)
        nodes(status["nodes"])
      end

      # Each kind is reported from the start, so that Prometheus knows its series.
      def problems(problems)
        counts = problems.map { |one| one["kind"] }.tally
        (Swarm::Diagnosis.kinds | counts.keys).each do |kind|
          add("problem", counts.fetch(kind, 0), kind:)
        end
      end

      def nodes(nodes)
        add("nodes_wanted", nodes.count { |node| node["task"] })
        NODE.each { |state| add("nodes", nodes.count { |node| node["state"] == state }, state:) }
      end

      # Spares have no work.
      def works(status)
        status["works"].each do |facts|
          labels = { work: facts["work"], work_name: facts["name"] }
          nodes = status["nodes"].select { |node| node["task"] == facts["work"] }
          add("work_nodes_wanted", facts["nodes"], **labels)
          NODE.each do |state|
            add("work_nodes", nodes.count { |node| node["state"] == state }, **labels, state:)
          end
          nodes.each { |node| add("node_work", 1, node: node["id"], **labels) }
        end
      end

      def node(facts)
        node = facts["id"]
        NODE.each { |state| add("node_state", facts["state"] == state, node:, state:) }
        condition(facts, node)
        use(facts, node)
        ends(facts, node)
      end

      def condition(facts, node)
        add("node_assigned", facts["assigned"], node:)
        add("node_crash_loop", facts["crash_loop"], node:)
        add("node_unhealthy", !facts["unhealthy"].nil?, node:)
        add("node_mold", facts["mold"], node:)
        add("node_beat_age_seconds", facts["beat_age"], node:)
      end

      def use(facts, node)
        %w[rss pss uss shared swap].each do |kind|
          add("node_memory_bytes", facts["memory"]&.fetch(kind, nil), node:, kind:)
        end
        add("node_cpu_seconds_total",
            facts["pid"] && OS::ProcessState.cpu_seconds(facts["pid"]), node:)
        add("node_done_total", facts.dig("work", "done"), node:)
      end

      def ends(facts, node)
        (REASONS | facts["restarts_by"].keys).each do |reason|
          add("node_restarts_total", facts["restarts_by"].fetch(reason, 0), node:, reason:)
        end
        facts["deaths"].each { |phase, count| add("node_deaths_total", count, node:, phase:) }
      end

      def events(counts)
        (EVENTS | counts.keys).each do |name|
          add("events_total", counts.fetch(name, 0), event: name)
        end
      end

      def supervisor(facts)
        add("supervisor_memory_bytes", facts.dig("memory", "rss"), kind: "rss")
        add("supervisor_descriptors", facts["descriptors"])
        add("supervisor_cpu_seconds_total", facts["cpu"])
      end
    end
  end
end
