# frozen_string_literal: true

# The swarm's nodes, as its log reports them, and the kills.
#
#   nodes = Nodes.new
#   nodes.handle(event)
#   nodes.ready            # the nodes that are ready
#   nodes.kill             # kills one of them at random; returns the Kill
#   nodes.kills            # all, in order
#
# A node's pidfd is opened as soon as its pid is known, so that no signal reaches another process.
module Skep
  module Demo
    class Nodes
      Node = Struct.new(:id, :pid, :pidfd, :ready)
      # at, ready_at: monotonic seconds; successor: the pid of the replacement.
      Kill = Struct.new(:node, :pid, :at, :successor, :ready_at) do
        def recovered? = !ready_at.nil?
        def milliseconds = (ready_at - at) * 1000
      end

      attr_reader :kills

      def initialize
        @nodes = {}
        @kills = []
        @boots = Hash.new(0)
      end

      def ready = @nodes.values.select(&:ready).sort_by(&:id)
      def restarts = @boots.values.sum { |boots| boots - 1 }
      def recovering? = @kills.any? && !@kills.last.recovered?

      def handle(event)
        id, pid = event.values_at("node", "pid")
        case event["event"]
        when "node_forked" then forked(id, pid)
        when "node_ready" then became_ready(id, pid, event["mono"])
        when "node_died", "node_exited" then forget(id)
        end
      end

      # Returns nil if the node ended on its own just now.
      def kill
        node = ready.sample
        at = OS.now
        node.pidfd.signal(:KILL)
        node.ready = false
        @kills.push(Kill.new(node.id, node.pid, at)).last
      rescue Errno::ESRCH
        node.ready = false
        nil
      end

      def close = @nodes.keys.each { |id| forget(id) }

      private

      def forked(id, pid)
        forget(id)
        @nodes[id] = Node.new(id, pid, Skep.pidfd(pid), false)
      rescue Errno::ESRCH # it died at once: the log reports it
        nil
      end

      def became_ready(id, pid, at)
        @boots[id] += 1
        @nodes[id]&.ready = true
        kill = @kills.last
        return unless recovering? && kill.node == id && kill.pid != pid

        kill.successor, kill.ready_at = pid, at
      end

      def forget(id) = @nodes.delete(id)&.pidfd&.close
    end
  end
end
