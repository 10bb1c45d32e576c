# frozen_string_literal: true

# Active Job's jobs by Kafka: `config.active_job.queue_adapter = :skep`. A queue is a topic; swarms
# do what lies there (Skep::Rails.jobs). docs/rails.md.
#
#   class InvoiceJob < ApplicationJob
#     def perform(order) = …
#     def kafka_key = arguments.first.customer_id   # in order for each; without it in any order
#   end
#
# A job that Kafka hasn't taken is never passed over in silence: Skep::Rails::NotEnqueued is raised,
# which perform_later doesn't rescue. Priorities are none.
module ActiveJob
  # Where Active Job looks for adapters.
  module QueueAdapters
    # Active Job's jobs by Kafka.
    class SkepAdapter < AbstractAdapter
      def initialize #: () -> void
        super
        require "skep/rails/queues"
      end

      # Kafka isn't part of the database's transaction.
      def enqueue_after_transaction_commit? = true

      # Raises NotEnqueued.
      #: (ActiveJob::Base) -> void
      def enqueue(job) = bring([job])

      # The same of a job for later: it waits in a topic of delays.
      #: (ActiveJob::Base, Float) -> void
      def enqueue_at(job, _timestamp) = bring([job])

      # For perform_all_later: all at once. Raises NotEnqueued, too; those that Kafka has taken are
      # `successfully_enqueued?`, the others have an `enqueue_error`. How many those were.
      #: (Array[ActiveJob::Base]) -> Integer
      def enqueue_all(jobs) = bring(jobs).size

      # Is the node that does this job to stop? ActiveJob::Continuable asks.
      #: () -> bool
      def stopping? = ::Skep::Rails.__stopping?

      private

      def bring(jobs) = ::Skep::Rails.__enqueue(jobs)
    end
  end
end
