# frozen_string_literal: true

# Names the topics of jobs: one for each queue, one for each delay, and one for dead jobs.
# JobQueues decides which of them a job goes to, and its key. Pure.
#
#   topics = JobTopics.new("jobs.", [5, 60])
#   topics.of("mailers")   # => "jobs.mailers"
#   topics.dead            # => "jobs.dead"
#   topics.delayed         # => { "jobs.delay-5s" => 5, "jobs.delay-60s" => 60 }
#
# Raises InvalidQueueName for a queue that no topic can be named after.
module Skep
  module Rails
    class JobTopics
      DEAD = "dead"
      DELAY = "delay-%ss"
      LEGAL = /\A[a-zA-Z0-9._-]{1,249}\z/ # Kafka's rule for names of topics
      RESERVED = /\A(?:dead|delay-[\d.]+s)\z/
      private_constant :DEAD, :DELAY, :LEGAL, :RESERVED

      attr_reader :delayed # seconds by delay topic

      def initialize(prefix, delays)
        @prefix = prefix
        @delayed = delays.sort.to_h { |seconds| [format("#{prefix}#{DELAY}", seconds), seconds] }
      end

      def of(queue)
        name = "#{@prefix}#{queue}"
        reserved = queue.match?(RESERVED)
        raise InvalidQueueName.new(queue:, reserved:) if reserved || !name.match?(LEGAL)

        name
      end

      def dead = "#{@prefix}#{DEAD}"

      def inspect = "#<Skep::Rails::JobTopics #{@prefix}*>"
    end
    private_constant :JobTopics
  end
end
