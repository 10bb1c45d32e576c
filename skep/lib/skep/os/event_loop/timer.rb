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
        attr_reader :deadline
        attr_reader :from

        def initialize(timers, deadline, block, from: deadline)
          @timers = timers
          @deadline = deadline
          @from = from
          @block = block
        end

        # Discards the block. Does nothing after it has run.
        def cancel
          @timers&.delete(self)
          @timers = @block = nil
        end

        # Returns true until it has run or is cancelled.
        def pending? = !@block.nil?

        # Takes it from the queue, to be run before its deadline.
        def __leave = @timers.delete(self)

        def __call
          block = @block
          @timers = @block = nil
          block.call
        end

        def inspect = "#<#{self.class} deadline=#{deadline}#{" done" unless pending?}>"
      end
    end
  end
end
