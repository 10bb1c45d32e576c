# frozen_string_literal: true

# A place in a swarm's events at which some are missing: EventStream#take_past begins with it.
#
#   gap.to_s   # => "312 events missing"
#
# missing: how many, without those of level debug. restarted: true if the events before are those
# of an earlier supervisor, which may have had more.
module Skep
  module Control
    class EventGap
      attr_reader :missing # how many events

      def initialize(missing, restarted: false)
        @missing = missing
        @restarted = restarted
      end

      # Returns true if anything is or may be missing.
      def any? = @restarted || missing.positive?

      # Returns a sentence for a line among the events.
      def to_s
        [*("the supervisor was started anew, and keeps no events from before" if @restarted),
         *("#{missing} event#{"s" if missing > 1} missing" if missing.positive?)].join("; ")
      end

      def inspect = "#<#{self.class} #{self}>"
    end
  end
end
