# frozen_string_literal: true

module Skep
  module OS
    class Loop
      # The timers of a loop, the latest first, so that the next due is popped cheaply. Those of one
      # deadline come in the order they were made in.
      #
      #   timers = Timers.new
      #   timers.add(OS.now + 1, block)
      #   timers.seconds_left   # => 1.0, nil without timers
      #   timers.take(OS.now)   # => the first Timer due, or nil
      class Timers
        #: () -> void
        def initialize
          @sorted = []
        end

        #: (Float deadline, Proc) -> Timer
        def add(deadline, block)
          timer = Timer.new(self, deadline, block)
          place = @sorted.bsearch_index { |other| other.deadline <= deadline } || @sorted.size
          @sorted.insert(place, timer)
          timer
        end

        #: (Timer) -> void
        def delete(timer)
          @sorted.delete_if { |other| other.equal?(timer) }
        end

        #: (Float now) -> Timer?
        def take(now)
          @sorted.pop if @sorted.any? && @sorted.last.deadline <= now
        end

        #: () -> Float?
        def seconds_left
          @sorted.any? ? [@sorted.last.deadline - OS.now, 0].max : nil
        end

        #: () -> Integer
        def size = @sorted.size

        #: () -> void
        def clear = @sorted.clear
      end
      private_constant :Timers
    end
  end
end
