# frozen_string_literal: true

# What the nodes of each kind of work have done in all, over the lives of all of them: their works
# tell "totals", a name and a number each, and what one last told is kept when it ends.
#
#   totals = Totals.new
#   totals.keep_of(node)            # it has ended
#   totals.of(0, live)              # => { "messages" => 1234 } of work 0, these nodes' included
#
# What the names mean only the work knows.
module Skep
  class Swarm
    class Totals
      include Kept

      KEPT = %i[past].freeze
      MOST = 64 # names that one work may have
      private_constant :MOST

      def initialize #: () -> void
        @past = {}
      end

      def keep_of(node) #: (Node) -> void
        return unless node.task

        @past[node.task.to_s] = add(@past.fetch(node.task.to_s, {}), told(node))
      end

      #: (Integer, Array[Node]) -> Hash[String, Numeric]
      def of(task, nodes)
        now = nodes.select { |node| node.task == task }.map { |node| told(node) }
        now.reduce(@past.fetch(task.to_s, {})) { |sum, one| add(sum, one) }
      end

      def inspect = "#<#{self.class} #{@past}>" #: () -> String

      private

      def told(node)
        told = node.work["totals"]
        told.is_a?(Hash) ? told.select { |_, number| number.is_a?(Numeric) } : {}
      end

      def add(sum, one) = sum.merge(one) { |_, before, more| before + more }.first(MOST).to_h
    end
  end
end
