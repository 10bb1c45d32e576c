# frozen_string_literal: true

# Where a job waits for its time. Kafka gives out messages in order and has no delays; so for a few
# lengths there is a topic in which each message waits just that long, and its first message is
# always the next to go. A job goes into the longest that isn't longer than what is left of its
# wait, and from there into the next one, until its time has come. Pure.
#
#   delays = Delays.new("jobs.delay-5s" => 5, "jobs.delay-60s" => 60)
#   delays.topic(130)    # => "jobs.delay-60s", from which it goes there once more, and so on
#   delays.topic(0)      # => nil: its time has come
#   delays.left("jobs.delay-60s", since: 100.0, due: 1_000.0, now: 130.0)   # => 30.0
#
# A wait shorter than the shortest of them may take as long as that one.
module Skep
  module Rails
    class Delays
      def initialize(topics) #: (Hash[String, Numeric]) -> void
        @topics = topics.sort_by(&:last).reverse
      end

      def any? = @topics.any? #: () -> bool

      # Into which topic a job goes that has so many seconds to wait.
      def topic(seconds) #: (Numeric) -> String?
        return unless seconds.positive?

        name, = @topics.find { |_, length| length <= seconds } || @topics.last
        name
      end

      # Is it one of them?
      def include?(topic) = !@topics.assoc(topic).nil? #: (String) -> bool

      # How many seconds a message stays in this topic yet. since: when it came; due: its time.
      #: (String, since: Numeric, due: Numeric, now: Numeric) -> Numeric
      def left(topic, since:, due:, now:)
        length = @topics.assoc(topic).last
        [since + length, due].min - now
      end

      def inspect = "#<Skep::Rails::Delays #{@topics.map(&:last).reverse.join(" ")}>"
    end
    private_constant :Delays
  end
end
