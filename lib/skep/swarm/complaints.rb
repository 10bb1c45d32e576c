# frozen_string_literal: true

# What a node said of its health since it last was well.
#
#   complaints.add("database gone", now)
#   complaints.reason   # => "database gone", the last one's
#   complaints.times    # => [now]
module Skep
  class Swarm
    class Complaints
      include Kept

      KEPT = %i[times reason].freeze
      MOST = 20
      private_constant :MOST

      attr_reader :times #: Array[Float]
      attr_reader :reason #: String?

      def initialize #: () -> void
        @times = []
      end

      def any? = @times.any? #: () -> bool

      def add(reason, now) #: (String, Float) -> void
        @reason = reason
        @times.shift if @times.size == MOST
        @times << now
      end

      def clear #: () -> void
        @times = []
        @reason = nil
      end
    end
  end
end
