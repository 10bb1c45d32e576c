# frozen_string_literal: true

module Skep
  module OS
    class EventLoop
      # A block that the loop calls once, after so many seconds; later if this process was stopped,
      # frozen or starved meanwhile. For what other processes must do in time: they may have been
      # frozen, too. The loop notices only the part of a pause in which a timer was due
      # (EventLoop#overslept), so ten times that is added, but no more than the seconds themselves.
      #
      #   deadline = loop.deadline(60) { … }
      #   deadline.cancel
      class Deadline
        FACTOR = 10
        private_constant :FACTOR

        def initialize(loop, seconds, block)
          @loop = loop
          @seconds = seconds
          @block = block
          start(seconds)
        end

        def cancel = @timer.cancel

        def pending? = @timer.pending?

        def inspect = "#<#{self.class} #{@timer.inspect}>"

        private

        def start(seconds)
          before = @loop.overslept
          @timer = @loop.after(seconds) do
            missed = @loop.overslept - before
            missed.positive? ? start([missed * FACTOR, @seconds].min) : @block.call
          end
        end
      end
    end
  end
end
