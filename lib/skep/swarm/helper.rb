# frozen_string_literal: true

# The supervisor's view of the helper:
# a node that does no work but runs the users' event blocks (its own view is Listener).
#
#   helper = Helper.new(id, %w[node_died])
#   helper.tell("node_died", facts)      # kept until there is a process to tell
#
# It is booted, replaced and stopped as a node is, goes last, and counts as none.
module Skep
  class Swarm
    class Helper < Node
      UNTOLD = 1_000
      private_constant :UNTOLD

      def initialize(id, events) #: (Integer, Array[String]) -> void
        super(id, nil)
        @events = events
        @untold = []
      end

      def label = "helper" #: () -> String
      def helper? = true #: () -> bool

      def begin(...)
        super
        @untold.shift(UNTOLD).each { |name, facts| tell(name, facts) }
      end

      def tell(name, facts) #: (String, Hash) -> void
        return unless @events.include?(name)
        return @untold.size < UNTOLD && @untold << [name, facts] unless live?

        channel.send("event", { "name" => name, "facts" => facts }, may_drop: true)
      end
    end
  end
end
