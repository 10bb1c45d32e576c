# frozen_string_literal: true

module Skep
  module OS
    class EventLoop
      # A block to be run once, at its deadline, or somewhat earlier if the loop is awake anyhow.
      #
      #   timer = loop.after(2) { … }
      #   timer.deadline   # => monotonic seconds
      #   timer.from       # => the same, or as much earlier as was said
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

        # Forgets the block; after it has run, or twice, is fine.
        #
        #: () -> nil
        def cancel
          @timers&.delete(self)
          @timers = @block = nil
        end

        # Neither run nor cancelled yet?
        #
        #: () -> bool
        def pending? = !@block.nil?

        # It is run before its deadline.
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
