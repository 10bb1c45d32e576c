# frozen_string_literal: true

# When a seat's processes died: those that never got ready (a deploy's fault, or a database's) apart
# from those that died at work.
#
#   deaths = Deaths.new
#   deaths.add("work", now, within: 60.0)
#   deaths.times       # => monotonic times within the window, of the kind that came last
#   deaths.counts      # => { "boot" => 0, "work" => 1 }, of all time
module Skep
  class Swarm
    class Deaths
      include Kept

      KEPT = %i[times counts last].freeze

      attr_reader :counts #: Hash[String, Integer]

      def initialize #: () -> void
        @times = { "boot" => [], "work" => [] }
        @counts = { "boot" => 0, "work" => 0 }
        @last = "boot"
      end

      def add(kind, now, within:) #: (String, Float, within: Float) -> void
        @last = kind
        @counts[kind] += 1
        times.shift while times.any? && times.first <= now - within
        times << now
      end

      # So many of the last at work count no more: what caused them is known.
      def forgive(number) = @times["work"].pop(number) #: (Integer) -> void

      def times = @times.fetch(@last) #: () -> Array[Float]
    end
  end
end
