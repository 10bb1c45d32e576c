# frozen_string_literal: true

# A node's hold on its slot: the lock by which spares learn of its death.
#
#   slot_lock = SlotLock.new(child, page:, layout:, report:)
#   slot_lock.begin
#   slot_lock.end        # it is a node no more, and yet lives
#
# The lock is its first thread's, which lives as long as the process. A successor has to wait until
# its predecessor is gone: it takes the lock when that thread next asks whether it is to stop, and
# says so. Until then its death is answered as if there were no spare.
module Skep
  class Swarm
    module InNode
      class SlotLock
        def initialize(child, page:, layout:, report:)
          @child = child
          @locks = OS::RobustLocks.new(page)
          @cell = layout.of(child.id)
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
          @report.call("slot_taken", {})
        end
      end
    end
  end
end
