# frozen_string_literal: true

# How fast it goes: over the last seconds for showing, over all for guessing the end.
#
#   pace = Pace.new
#   pace.note(now, total: 500, by_node: { 0 => 250, 1 => 250 })
#   pace.rate; pace.rate_of(1)       # records a second
#   pace.seconds_left(1_500)         # for so many more; nil before anything was done
module Skep
  module CLI
    class Demo
      class Pace
        WINDOW = 2.0
        Sample = Struct.new(:time, :total, :by_node)
        private_constant :WINDOW, :Sample

        attr_reader :began_at #: Float?

        def initialize = @samples = [] #: () -> void

        #: (Float, total: Integer, by_node: Hash[Integer, Integer]) -> void
        def note(now, total:, by_node:)
          @began_at ||= now
          @samples << Sample.new(now, total, by_node)
          @samples.shift while @samples[1] && @samples[1].time <= now - WINDOW
        end

        def rate = over_window(&:total) #: () -> Float

        #: (Integer) -> Float
        def rate_of(node) = over_window { |sample| sample.by_node.fetch(node, 0) }

        def elapsed = @began_at ? @samples.last.time - @began_at : 0.0 #: () -> Float

        def seconds_left(remaining) #: (Integer) -> Float?
          done = @samples.last&.total.to_i
          done.zero? || elapsed.zero? ? nil : remaining * elapsed / done
        end

        private

        def over_window
          first, last = @samples.values_at(0, -1)
          return 0.0 if first.nil? || last.time == first.time

          (yield(last) - yield(first)) / (last.time - first.time)
        end
      end
      private_constant :Pace
    end
  end
end
