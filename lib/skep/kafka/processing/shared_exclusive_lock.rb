# frozen_string_literal: true

# Lets handlers work side by side, but for batches that are to be at work alone in their node.
#
#   exclusive_lock.pass { … }                 # beside others
#   exclusive_lock.pass(alone: true) { … }    # once those inside are through; nobody else until it is, too
#   exclusive_lock.close                      # who waits, or comes later, isn't let in any more
#
# Who waits to be alone goes before all who come later.
module Skep
  module Kafka
    module Processing
      class SharedExclusiveLock
        def initialize
          @lock = Mutex.new
          @moved = ConditionVariable.new
          @inside = 0
          @waiting = 0
        end

        def pass(alone: false) #: (?alone: bool) { () -> untyped } -> untyped
          return unless @lock.synchronize { alone ? enter_alone : enter }

          begin
            yield
          ensure
            @lock.synchronize { leave }
          end
        end

        def close #: () -> void
          @lock.synchronize do
            @closed = true
            @moved.broadcast
          end
        end

        private

        def enter
          @moved.wait(@lock) while !@closed && (@alone || @waiting.positive?)
          @inside += 1 unless @closed
        end

        def enter_alone
          @waiting += 1
          @moved.wait(@lock) while !@closed && (@alone || @inside.positive?)
          return if @closed

          @inside += 1
          @alone = true
        ensure
          @waiting -= 1
        end

        def leave
          @inside -= 1
          @alone = false
          @moved.broadcast
        end
      end
    end
  end
end
