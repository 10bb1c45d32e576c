# frozen_string_literal: true

# The seat of the helper: a node that does no work but runs the users' event blocks (its own view is
# Listener).
#
#   helper = Helper.new(%w[node_died])
#   helper.tell("node_died", facts)      # kept until there is a process to tell
#
# It is booted, replaced and stopped as others are, goes last, and counts as none.
module Skep
  class Swarm
    class Helper < Seat
      UNTOLD = 1_000
      private_constant :UNTOLD

      def initialize(events) #: (Array[String]) -> void
        super(nil, nil)
        @events = events
        @untold = []
      end

      def label = "helper" #: () -> String
      def helper? = true #: () -> bool

      def take(node)
        super
        @untold.shift(UNTOLD).each { |name, facts| tell(name, facts) }
      end

      def keep(handover) = { **super, "untold" => @untold } #: (Handover) -> Hash[String, untyped]

      def recall(plain, node, last_mold) #: (Hash[String, untyped], Node?, Mold?) -> self
        @untold = plain["untold"]
        super
      end

      def tell(name, facts) #: (String, Hash) -> void
        return unless @events.include?(name)
        return @untold.size < UNTOLD && @untold << [name, facts] unless live?

        node.channel.send("event", { "name" => name, "facts" => facts }, may_drop: true)
      end

      # The last to go: it has heard of every node's end.
      def leave_last = nodes.each { |node| node.stop unless node.state == :stopping } #: () -> void
    end
  end
end
