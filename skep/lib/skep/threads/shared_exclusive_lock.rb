# frozen_string_literal: true

# Lets blocks of several threads run side by side, except those that must run alone.
#
#   lock = SharedExclusiveLock.new
#   lock.synchronize { … }                  # beside others
#   lock.synchronize(exclusive: true) { … } # waits until no other block runs; none runs beside it
#   lock.close                              # blocks that wait, or come later, don't run any more
#
# An exclusive block that waits goes before all blocks that come later.
module Skep
  module Threads
    class SharedExclusiveLock
      def initialize
        @lock = Mutex.new
        @changed = ConditionVariable.new
        @running = 0
        @waiting = 0 # exclusive blocks
      end

      # Returns the block's value, or nil if the lock is closed.
      def synchronize(exclusive: false)
        return unless @lock.synchronize { enter(exclusive) }

        begin
          yield
        ensure
          @lock.synchronize { leave }
        end
      end

      def close
        @lock.synchronize do
          @closed = true
          @changed.broadcast
        end
      end

      private

      # Returns nil once the lock is closed.
      def enter(exclusive)
        @waiting += 1 if exclusive
        @changed.wait(@lock) until @closed || free?(exclusive)
        return if @closed

        @exclusive = exclusive
        @running += 1
      ensure
        @waiting -= 1 if exclusive
      end

      def free?(exclusive) = !@exclusive && (exclusive ? @running : @waiting).zero?

      def leave
        @running -= 1
        @exclusive = false
        @changed.broadcast
      end
    end
  end
end
