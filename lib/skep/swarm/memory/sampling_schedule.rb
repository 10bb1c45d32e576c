# frozen_string_literal: true

# Looks at nodes' memory when it is time to, many at a time.
#
#   schedule = SamplingSchedule.new(loop) { |node, now| seconds }   # a look: when is the next?
#   watch = sampling_schedule.watch(node, 0.25)   # for the first time in so many seconds
#   watch.cancel                       # no more: it has ended
#
# One timer for all of them. A look is made from half of its time on, where the loop is awake: for
# another node, for a sign of life that is due (Health::LivenessMonitor), for whatever. So a still
# swarm sleeps. No turn makes more than a slice of many looks, so that nothing is held up.
module Skep
  class Swarm
    module Memory
      class SamplingSchedule
        Watch = Struct.new(:sampling_schedule, :node) do
          def cancel = sampling_schedule.forget(node) #: () -> void
        end

        SLICE = 50 # looks a turn, each some 20 microseconds
        EARLY = 0.5 # of its time
        private_constant :Watch, :SLICE, :EARLY

        #: (OS::EventLoop) { (Nodes::NodeProcess, Float) -> Float } -> void
        def initialize(loop, &look)
          @loop = loop
          @look = look
          @due = {}.compare_by_identity
        end

        def watch(node, seconds, now = OS.now) #: (Nodes::NodeProcess, Float, ?Float) -> Watch
          plan(node, now, seconds)
          wake unless in_time?(*@due[node])
          Watch.new(self, node)
        end

        def forget(node) = @due.delete(node) #: (Nodes::NodeProcess) -> void
        def inspect = "#<#{self.class} nodes=#{@due.size}>" #: () -> String

        private

        # From when on it may be looked at, and when it must.
        def plan(node, now, seconds)
          @due[node] = [now + (seconds * EARLY), now + seconds]
        end

        def in_time?(from, at) = @timer&.pending? && @timer.deadline <= at && @timer.from <= from

        def wake
          @timer&.cancel
          return if @due.empty?

          from, at = @due.each_value.to_a.transpose.map(&:min)
          @timer = @loop.at(at, early: at - from) { turn }
        end

        def turn
          open = due(OS.now)
          open.first(SLICE).each { |node| look(node) if @due.key?(node) }
        ensure
          open && open.size > SLICE ? @timer = @loop.after(0) { turn } : wake
        end

        # Those first that can wait least. Not by `select`: of a Hash that compares by identity it
        # leaks 176 bytes in Ruby 3.1.
        def due(now)
          open = @due.filter_map { |node, (from, at)| [at, node] if from <= now }
          open.sort_by(&:first).map(&:last)
        end

        def look(node)
          @due.delete(node)
          now = OS.now
          plan(node, now, @look.call(node, now))
        end
      end
    end
  end
end
