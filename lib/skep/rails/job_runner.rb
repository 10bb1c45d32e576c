# frozen_string_literal: true

# Handles a message of a job's topic in a node: runs the job or, in a delay topic, forwards it once
# its time in that topic is over.
#
#   JobRunner.new(delays, 600).call(batch, node)
#
# Each job is a batch, so that it fails alone. The source retries a job that raises, unless the job
# has handled the exception itself (`retry_on`) and given up: that exception is NonRetryable.
module Skep
  module Rails
    class JobRunner
      def initialize(delays, job_timeout)
        @delays = delays
        @job_timeout = job_timeout
      end

      def call(batch, node)
        message = batch.messages.first
        data = parse(message)
        return perform(data, node) unless @delays.include?(batch.topic)

        due = Time.iso8601(data.fetch("scheduled_at"))
        left = seconds_left(message, due)
        left.positive? ? batch.pause(left, level: :debug) : forward(message, data, due, node)
      end

      def to_proc = method(:call).to_proc # for swarm.work, which takes a block

      private

      # Active Job runs the callbacks, retry_on and discard_on.
      def perform(data, node)
        JobProducer.with_node(node) do
          node.busy(for: @job_timeout) { ActiveJob::Base.execute(data) }
        end
      rescue StandardError => e # the source decides about retries
        raise handled_by_job?(data, e) && !e.frozen? ? e.extend(Kafka::NonRetryable) : e
      end

      # Returns true if the job class has a handler for the error or one of its causes.
      def handled_by_job?(data, error)
        job = data["job_class"].safe_constantize
        return false unless job.respond_to?(:handler_for_rescue)

        causes = [error]
        causes << causes.last.cause while causes.last.cause
        causes.any? { |cause| job.handler_for_rescue(cause, object: job.allocate) }
      end

      def seconds_left(message, due)
        @delays.seconds_left(message.topic, since: message.timestamp.to_f, due: due.to_f,
                                            now: Time.current.to_f)
      end

      def forward(message, data, due, node)
        topic = JobQueues.topic(data.fetch("queue_name"), JobQueues.seconds_until(due))
        node.producer.produce(topic, message.payload, key: message.key)
      end

      def parse(message)
        data = JSON.parse(message.payload.to_s)
        return data if data.is_a?(Hash) && data["job_class"].is_a?(String)

        raise InvalidJob.new(cause: "it has no job_class").extend(Kafka::NonRetryable)
      rescue JSON::ParserError => e
        raise InvalidJob.new(cause: e.message).extend(Kafka::NonRetryable)
      end
    end
    private_constant :JobRunner
  end
end
