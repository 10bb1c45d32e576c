# frozen_string_literal: true

# Handles a message of a job's topic in a node: runs the job or, in a delay topic, forwards it once
# its time in that topic is over (DelayTimer).
#
#   JobRunner.new(delays, 600).call(batch, node)
#
# Each job is a batch, so that it fails alone. The source retries a job that raises, unless the job
# has handled the exception itself (`retry_on`) and given up: that exception is NonRetryable.
module Skep
  module Rails
    class JobRunner
      SKEW = 1.0 # seconds by which a host's clock may be ahead before skep warns
      WARN_EVERY = 60.0 # seconds
      HINT = "Set the clocks of these hosts by NTP: delayed jobs run too early on a host whose " \
             "clock is ahead."
      private_constant :SKEW, :WARN_EVERY, :HINT

      def initialize(delays, job_timeout)
        @delays = delays
        @timer = DelayTimer.new(delays)
        @job_timeout = job_timeout
      end

      def call(batch, node)
        message = batch.messages.first
        data = parse(message)
        return perform(data, node) unless @delays.include?(batch.topic)

        stay = @timer.stay(message, Time.iso8601(data.fetch("scheduled_at")).to_f)
        if stay.ahead.to_f > SKEW
          warn_of_clock(stay.ahead, message, node)
          batch.__attempt&.clock_ahead = stay.ahead
        end
        left = stay.seconds_left
        left.positive? ? batch.pause(left, level: :debug) : forward(message, data, stay, node)
      end

      def to_proc = method(:call).to_proc # for swarm.work, which takes a block

      private

      # Active Job runs the callbacks, retry_on and discard_on.
      def perform(data, node)
        JobProducer.with_node(node) do
          node.busy(for: @job_timeout) { ActiveJob::Base.execute(data) }
        end
      rescue UserError => e # the source decides about retries
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

      # The copy keeps the clock of the host that enqueued the job, so that the next node continues
      # by it.
      def forward(message, data, stay, node)
        now = stay.writers_time
        due = Time.iso8601(data.fetch("scheduled_at")).to_f
        topic = JobQueues.topic(data.fetch("queue_name"), due - now)
        node.producer.produce(topic, message.payload, key: message.key, timestamp: Time.at(now))
        @timer.ended(message)
      end

      def warn_of_clock(ahead, message, node)
        return if @warned_at && OS.now < @warned_at + WARN_EVERY

        @warned_at = OS.now
        node.event(:clock_behind, level: :warn, behind: ahead.round(1), topic: message.topic,
                                  partition: message.partition, offset: message.offset, hint: HINT)
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
