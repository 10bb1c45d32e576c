# frozen_string_literal: true

# What the nodes of each kind of work have done in all, over the lives of all of them: their works
# tell "totals", a name and a number each, and "handler", how long things took (Histogram's plain
# ones), and what one last told is kept when it ends.
#
#   totals = WorkTotals.new
#   totals.keep_of(node)            # it has ended
#   totals.of(0, live)              # => { "messages" => 1234 } of work 0, these nodes' included
#   totals.handler(0, live)         # => Histogram's plain one of the same; nil: none was told
#
# What the names mean only the work knows.
module Skep
  class Swarm
    module Stats
      class WorkTotals
        include Runtime::Persisted

        KEPT = %i[past handled].freeze
        MOST = 64 # names that one work may have
        private_constant :MOST

        def initialize #: () -> void
          @past = {}
          @handled = {}
        end

        def keep_of(node) #: (Nodes::NodeProcess) -> void
          return unless node.task

          task = node.task.to_s
          @past[task] = add(@past.fetch(task, {}), told(node))
          @handled[task] = handler(node.task, [node])
        end

        #: (Integer, Array[Nodes::NodeProcess]) -> Hash[String, Numeric]
        def of(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| told(node) }
          now.reduce(@past.fetch(task.to_s, {})) { |sum, one| add(sum, one) }
        end

        #: (Integer, Array[Nodes::NodeProcess]) -> Hash[String, untyped]?
        def handler(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| node.work["handler"] }
          all = [@handled[task.to_s], *now].compact
          Histogram.merge(all).to_plain if all.any?
        end

        # By an older skep: it knew of no times.
        def restore(plain) = super({ "handled" => {}, **plain }) #: (Hash[String, untyped]) -> self

        def inspect = "#<#{self.class} #{@past}>" #: () -> String

        private

        # Checked when it came (IPC::Messages).
        def told(node) = node.work["totals"] || {}

        def add(sum, one) = sum.merge(one) { |_, before, more| before + more }.first(MOST).to_h
      end
    end
  end
end
