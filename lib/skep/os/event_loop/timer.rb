# frozen_string_literal: true

module Skep
  module OS
    class EventLoop
      # A block that the loop calls once, at its deadline or somewhat earlier if it is awake.
      #
      #   timer = loop.after(2) { … }
      #   timer.deadline   # => monotonic seconds
      #   timer.from       # => the earliest time: the deadline less `early:`
      #   timer.cancel
      class Timer
        attr_reader :deadline #: Float
        attr_reader :from #: Float

        #: (TimerQueue, Float deadline, Proc, ?from: Float) -> void
        def initialize(timers, deadline, block, from: deadline)
          @timers = timers
          @deadline = deadline
          @from = from
          @block = block
        end

        # Discards the block. Does nothing after it has run.
        #
        #: () -> nil
        def cancel
          @timers&.delete(self)
          @timers = @block = nil
        end

        # Returns true until it has run or is cancelled.
        #
        #: () -> bool
        def pending? = !@block.nil?

        # Takes it from the queue, to be run before its deadline.
        #
        #: () -> void
        def __leave = @timers.delete(self)

        #: () -> void
        def __call
          block = @block
          @timers = @block = nil
          block.call
        end

        #: () -> String
        def inspect = "#<#{self.class} deadline=#{deadline}#{" done" unless pending?}>"
      end
    end
  end
end
