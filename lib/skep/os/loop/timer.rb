# frozen_string_literal: true

module Skep
  module OS
    class Loop
      # A block to be run once, at its deadline.
      #
      #   timer = loop.after(2) { … }
      #   timer.deadline   # => monotonic seconds
      #   timer.cancel
      class Timer
        attr_reader :deadline #: Float

        #: (Timers, Float deadline, Proc) -> void
        def initialize(timers, deadline, block)
          @timers = timers
          @deadline = deadline
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
