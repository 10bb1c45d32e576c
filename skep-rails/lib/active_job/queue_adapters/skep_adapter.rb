# frozen_string_literal: true

# Active Job on Kafka: `config.active_job.queue_adapter = :skep`. Each queue is a topic; swarms run
# its jobs (Skep::Rails.jobs). docs/guides/rails.md
#
#   class InvoiceJob < ApplicationJob
#     def perform(order) = …
#     def kafka_key = arguments.first.customer_id   # jobs of one key run in order
#   end
#
# A job that Kafka doesn't acknowledge raises Skep::Rails::EnqueueFailed, which perform_later
# doesn't rescue. Priorities are ignored.
module ActiveJob
  # Active Job looks for its adapters here.
  module QueueAdapters
    # Active Job on Kafka.
    class SkepAdapter < AbstractAdapter
      def initialize
        super
        require "skep/rails/job_queues"
      end

      # Kafka isn't part of the database's transaction.
      def enqueue_after_transaction_commit? = true

      # Raises EnqueueFailed.
      def enqueue(job) = enqueue_jobs([job])

      # Enqueues a delayed job, which waits in a delay topic.
      def enqueue_at(job, _timestamp) = enqueue_jobs([job])

      # Enqueues all jobs of perform_all_later at once and returns their number. Raises
      # EnqueueFailed; jobs that Kafka has stored are then `successfully_enqueued?`, the others have
      # an `enqueue_error`.
      def enqueue_all(jobs) = enqueue_jobs(jobs).size

      # Returns true if the node that runs this job is stopping. ActiveJob::Continuable calls it:
      # Rails 8.1 without an argument, later versions with the job.
      def stopping?(_job = nil) = ::Skep::Rails.__stopping?

      private

      def enqueue_jobs(jobs) = ::Skep::Rails.__enqueue(jobs)
    end
  end
end
