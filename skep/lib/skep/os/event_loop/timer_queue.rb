# frozen_string_literal: true

module Skep
  module OS
    class EventLoop
      # The timers of a loop, sorted by falling deadline, so that the next is popped cheaply. Timers
      # of the same deadline run in the order in which they were added.
      #
      #   timers = TimerQueue.new
      #   timers.add(OS.now + 1, block)
      #   timers.deadline       # => that of the first; nil without timers
      #   timers.take(OS.now)   # => the first Timer due, or nil
      #   timers.early(OS.now)  # => those not due that may run early now
      class TimerQueue
        def initialize
          @sorted = []
          @patient = []
        end

        def add(deadline, block, early: 0)
          timer = Timer.new(self, deadline, block, from: deadline - early)
          @patient << timer if early.positive?
          place = @sorted.bsearch_index { |other| other.deadline <= deadline } || @sorted.size
          @sorted.insert(place, timer)
          timer
        end

        def delete(timer)
          [@sorted, @patient].each { |all| all.delete_if { |other| other.equal?(timer) } }
        end

        def take(now)
          return unless @sorted.any? && @sorted.last.deadline <= now

          @sorted.pop.tap { |timer| @patient.delete(timer) }
        end

        def early(now)
          return [] if @patient.empty?

          @patient.select { |timer| timer.from <= now && timer.deadline > now }.sort_by(&:deadline)
        end

        def deadline = @sorted.last&.deadline

        def size = @sorted.size

        def clear = [@sorted, @patient].each(&:clear)
      end
      private_constant :TimerQueue
    end
  end
end
