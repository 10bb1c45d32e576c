# frozen_string_literal: true

# Decides whether a swarm is ready for its work. Pure.
#
#   Readiness.problem(status)               # => nil if it is ready, else why it isn't
#   Readiness.problem(status, nodes: 3)     # requires three ready nodes; "all": all of them
#
# status: as in `skep status --json`. Without `nodes`, each work needs one ready node.
module Skep
  module Metrics
    module Readiness
      STATES = { "booting" => "it is booting",
                 "quiet" => "it is quiet: its nodes fetch no new work",
                 "stopping" => "it is stopping", "stopped" => "it has stopped" }.freeze
      private_constant :STATES

      module_function

      def problem(status, nodes: nil)
        return STATES.fetch(status["state"]) if STATES.key?(status["state"])

        slots = status["nodes"].reject { |node| node["task"].nil? }
        looping = slots.find { |node| node["crash_loop"] }
        return crash_loop(looping) if looping

        nodes ? too_few(slots, nodes) : work_without_node(status, slots)
      end

      def crash_loop(node)
        deaths = node["deaths"].values.sum
        "node #{node["id"]} is in a crash loop: #{deaths} deaths since the swarm began, the " \
          "last by #{last_exit(node)}"
      end

      def last_exit(node)
        exit = node["last_exit"].to_h
        return "SIG#{exit["signal"]}" if exit["signal"]

        exit["exit_status"] ? "exit status #{exit["exit_status"]}" : "an unknown cause"
      end

      def too_few(slots, wanted)
        wanted = slots.size if wanted == "all"
        ready = slots.count { |node| ready?(node) }
        "#{ready} of #{slots.size} nodes are ready, #{wanted} must be" if ready < wanted
      end

      def work_without_node(status, slots)
        idle = slots.group_by { |node| node["task"] }
                    .find { |_, nodes| nodes.none? { |node| ready?(node) } } or return
        name = status["works"][idle.first].to_h["name"]
        "none of the #{idle.last.size} nodes of #{["work", *name].join(" ")} is ready"
      end

      def ready?(node) = node["state"] == "ready" && node["unhealthy"].nil?

      private_class_method :crash_loop, :last_exit, :too_few, :work_without_node, :ready?
    end
  end
end
