# frozen_string_literal: true

# A source that runs Active Job's jobs: those of the given queues, and the delayed ones.
#
#   swarm.work Skep::Rails.jobs("default", "mailers", threads: 3)
#
# | option | default | |
# |---|---|---|
# | threads | 1 | jobs at a time in a node |
# | job_timeout | 600 | seconds; a job that takes longer hangs, and its node is replaced |
# | max_out_of_order | 100 | jobs of a partition that may finish beyond its first unfinished one |
# | max_attempts | 5 | how often a job fails before it goes to the topic of dead jobs |
#
# and retry_backoff, retry_backoff_max, retry_for, on_poison, commit_interval, leave_on_stop,
# stall_timeout, connect_timeout and producer, as Kafka::Source has them.
module Skep
  module Rails
    class JobSource < Kafka::Source
      # Options of Kafka::Source that jobs take as they are.
      OPTIONS = %i[threads max_attempts retry_backoff retry_backoff_max retry_for on_poison
                   commit_interval leave_on_stop stall_timeout connect_timeout].freeze
      private_constant :OPTIONS

      attr_reader :handler

      # queues: names of Active Job's queues. Raises InvalidQueueName.
      def initialize(queues, job_timeout: 600, max_out_of_order: 100, producer: {}, **options)
        refuse_unknown(options.keys - OPTIONS)
        topics, delays = JobQueues.topics, JobQueues.delays
        @handler = JobRunner.new(delays, job_timeout)
        super(kafka: Rails.config.kafka, group: Rails.config.group,
              topics: [*queues.map { |queue| topics.of(queue.to_s) }, *topics.delayed.keys],
              dead_letter_topic: topics.dead, max_messages: 1, max_out_of_order:,
              ordered_by: order(delays),
              producer: { "linger.ms": 0, **producer }, **options)
      end

      def inspect = super.sub("Kafka::Source", "Rails::JobSource")

      private

      def refuse_unknown(names)
        return if names.empty?

        all = [:job_timeout, :max_out_of_order, :producer, *OPTIONS]
        wrong = names.map { |name| "#{name}#{Spelling.hint(name, all)}" }
        raise ArgumentError, "Skep::Rails.jobs has no option #{wrong.join(", ")}"
      end

      # Jobs are ordered by their own keys, delayed ones by their topic: the first is due first.
      def order(delays)
        ->(message) { delays.include?(message.topic) ? message.topic : message.key }
      end
    end
    private_constant :JobSource
  end
end
