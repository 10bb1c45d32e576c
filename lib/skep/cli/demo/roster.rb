# frozen_string_literal: true

# Who the nodes are, as the supervisor's log tells.
#
#   roster = Roster.new
#   roster.hear(event)
#   roster.nodes      # => [#<struct Node id=0, pid=42, state="ready", …>, …]
#   roster.ready      # those that work
#   roster.restarts
#
# A node's pidfd is opened as soon as its pid is known, so that no signal ever goes to another
# process.
module Skep
  module CLI
    class Demo
      class Roster
        Node = Struct.new(:id, :pid, :pidfd, :state, :boots, :partitions) do
          def ready? = state == "ready" && !pidfd.nil? #: () -> bool
          def restarts = [boots - 1, 0].max #: () -> Integer
        end

        STATES = { "node_forked" => "booting", "node_ready" => "ready", "node_died" => "dead",
                   "node_exited" => "ended", "node_waiting" => "waiting" }.freeze
        private_constant :STATES

        def initialize = @nodes = {} #: () -> void
        def nodes = @nodes.values.sort_by(&:id) #: () -> Array[Node]
        def ready = nodes.select(&:ready?) #: () -> Array[Node]
        def restarts = nodes.sum(&:restarts) #: () -> Integer

        def hear(event) #: (Hash[String, untyped]) -> void
          node = event["node"] && node(event["node"])
          case event["event"]
          when "node_forked" then forked(node, event["pid"])
          when "node_ready" then node.boots += 1
          when "node_died", "node_exited" then died(node)
          when "swarm_stopping" then ready.each { |other| other.state = "stopping" }
          when "node_assigned", "node_unassigned" then node.partitions = partitions(event)
          end
          node.state = state(event) || node.state if node
        end

        def close = nodes.each { |node| node.pidfd&.close } #: () -> void

        private

        def partitions(event) = event.fetch("partitions", {}).values.sum(&:size)
        def state(event) = STATES[event["event"]]
        def node(id) = @nodes[id] ||= Node.new(id, nil, nil, "booting", 0, 0)

        def forked(node, pid)
          node.pidfd&.close
          node.pid = pid
          node.pidfd = Skep.pidfd(pid)
        rescue Errno::ESRCH # it died at once: the log will tell
          node.pidfd = nil
        end

        def died(node)
          node.pidfd&.close
          node.pidfd = nil
          node.partitions = 0
        end
      end
      private_constant :Roster
    end
  end
end
