# frozen_string_literal: true

# Chooses the topic in which a delayed job waits. Kafka delivers a partition in order and has no
# delays, so there is one topic for each of a few lengths: every message of a topic waits equally
# long, so a partition's first message is due first. A job goes into the longest topic that isn't
# longer than its remaining wait, then into the next such topic, until it is due. Pure.
#
#   delays = DelayTopics.new("jobs.delay-5s" => 5, "jobs.delay-60s" => 60)
#   delays.topic(130)    # => "jobs.delay-60s"; after that minute it goes there once more
#   delays.topic(0)      # => nil: the job is due
#   delays.stay("jobs.delay-60s", since: 100.0, due: 1_000.0)   # => 60
#
# A wait that is shorter than the shortest topic may take as long as that topic.
module Skep
  module Rails
    class DelayTopics
      def initialize(topics)
        @topics = topics.sort_by(&:last).reverse
      end

      # The topic for a job that has that many seconds to wait.
      def topic(seconds)
        return unless seconds.positive?

        name, = @topics.find { |_, length| length <= seconds } || @topics.last
        name
      end

      # Returns true if the topic is one of these.
      def include?(topic) = !@topics.assoc(topic).nil?

      # How many seconds a message stays in this topic. since: when it was written there; due: when
      # its job is due, by the same clock.
      def stay(topic, since:, due:)
        [@topics.assoc(topic).last, due - since].min
      end

      def inspect = "#<Skep::Rails::DelayTopics #{@topics.map(&:last).reverse.join(" ")}>"
    end
    private_constant :DelayTopics
  end
end
