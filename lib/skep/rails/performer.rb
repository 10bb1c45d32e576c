# frozen_string_literal: true

# What a node does with a message of a job's topic: performs the job, or sees it on its way where
# its time hasn't come.
#
#   Performer.new(delays, 600).call(batch, child)
#
# A job is a batch of its own, so that its failures are its own, too. What it raises is skep's to
# try again, but not where the job itself had a say (`retry_on`) and gave up: that is Final.
module Skep
  module Rails
    class Performer
      def initialize(delays, job_timeout) #: (Delays, Numeric) -> void
        @delays = delays
        @job_timeout = job_timeout
      end

      def call(batch, child) #: (Kafka::Batch, Swarm::Child) -> void
        message = batch.messages.first
        data = read(message)
        return perform(data, child) unless @delays.include?(batch.topic)

        due = Time.iso8601(data.fetch("scheduled_at"))
        left = stay(message, due)
        left.positive? ? batch.pause(left, level: :debug) : forward(message, data, due, child)
      end

      def to_proc = method(:call).to_proc #: () -> Proc, for who takes a block

      private

      # Active Job's own road: its callbacks, its retry_on and discard_on, reloaded code.
      def perform(data, child)
        Courier.with(child) { child.busy(for: @job_timeout) { ActiveJob::Base.execute(data) } }
      rescue StandardError => e # the job's: what becomes of it is the source's to say
        raise spoken_for?(data, e) && !e.frozen? ? e.extend(Kafka::NonRetryable) : e
      end

      # Has the job a handler for it, or for what caused it?
      def spoken_for?(data, error)
        job = data["job_class"].safe_constantize
        return false unless job.respond_to?(:handler_for_rescue)

        causes = [error]
        causes << causes.last.cause while causes.last.cause
        causes.any? { |cause| job.handler_for_rescue(cause, object: job.allocate) }
      end

      def stay(message, due)
        @delays.left(message.topic, since: message.timestamp.to_f, due: due.to_f,
                                    now: Time.current.to_f)
      end

      def forward(message, data, due, child)
        topic = Queues.topic(data.fetch("queue_name"), Queues.seconds_until(due))
        child.producer.produce(topic, message.payload, key: message.key)
      end

      def read(message)
        data = JSON.parse(message.payload.to_s)
        return data if data.is_a?(Hash) && data["job_class"].is_a?(String)

        raise NoJob.new(cause: "it has no job_class").extend(Kafka::NonRetryable)
      rescue JSON::ParserError => e
        raise NoJob.new(cause: e.message).extend(Kafka::NonRetryable)
      end
    end
    private_constant :Performer
  end
end
