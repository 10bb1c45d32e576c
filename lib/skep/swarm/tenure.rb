# frozen_string_literal: true

# A node's hold on its seat: the lock by which spares learn of its death.
#
#   tenure = Tenure.new(child, page:, cells:, report:)
#   tenure.begin
#   tenure.end        # it is a node no more, and yet lives
#
# The lock is its first thread's, which lives as long as the process. A successor has to wait until
# its predecessor is gone: it takes the lock when that thread next asks whether it is to stop, and
# says so. Until then its death is answered as if there were no spare.
module Skep
  class Swarm
    class Tenure
      def initialize(child, page:, cells:, report:)
        @child = child
        @locks = OS::Locks.new(page)
        @cell = cells.of(child.id)
        @report = report
      end

      def begin #: () -> void
        @child.__each_turn { take } unless @locks.hold(@cell)
      end

      # The process goes on as something else than a node.
      def end #: () -> void
        @child.__each_turn
        @locks.let_go(@cell)
      end

      private

      def take
        return unless Thread.current == Thread.main && @locks.hold(@cell)

        @child.__each_turn
        @report.call("seated", {})
      end
    end
  end
end
