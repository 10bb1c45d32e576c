# frozen_string_literal: true

# Active Job's queues as topics of Kafka's: the part of skep/rails that needs Kafka, loaded when the
# adapter is chosen, or work is asked for.
#
#   Queues.enqueue([job, another])   # => those; raises NotEnqueued
require "active_job"
require "skep/kafka"

require "skep/rails/topics"
require "skep/rails/delays"
require "skep/rails/courier"

module Skep
  module Rails
    module Queues
      NO_DELAYS = "jobs for later need somewhere to wait: config.skep.delays is empty"
      private_constant :NO_DELAYS

      module_function

      # Returns when the brokers have them all (in a job: at once, Courier says why).
      #: (Array[ActiveJob::Base]) -> Array[ActiveJob::Base]
      def enqueue(jobs)
        parcels = Courier.bring(jobs.map { |job| parcel(job) })
        parcels.each { |parcel| mark(parcel) }
        failed = parcels.select(&:error)
        return jobs if failed.empty?

        raise NotEnqueued.new(jobs: failed.map(&:job), of: jobs.size,
                              cause: failed.first.error.message)
      end

      # Where a job goes that is in this queue and has so many seconds to wait yet.
      def topic(queue, seconds) #: (String, Numeric) -> String
        own = topics.of(queue)
        return own unless seconds.positive?

        delays.topic(seconds) or raise NotImplementedError, NO_DELAYS
      end

      # How long it is until then, in seconds. (A job's time is the wall's.)
      def seconds_until(time) = time ? time.to_f - Time.current.to_f : 0 #: (Time?) -> Numeric

      def topics = Topics.new(Rails.config.prefix, Rails.config.delays) #: () -> Topics
      def delays = Delays.new(topics.delayed) #: () -> Delays

      def parcel(job)
        topic = topic(job.queue_name, seconds_until(job.scheduled_at))
        key = job.kafka_key&.to_s if job.respond_to?(:kafka_key)
        Courier::Parcel.new(job, topic, JSON.generate(job.serialize), key)
      end

      def mark(parcel)
        job = parcel.job
        job.successfully_enqueued = parcel.error.nil?
        job.enqueue_error = parcel.error
        job.provider_job_id = parcel.place&.to_s
      end
      private_class_method :parcel, :mark
    end
    private_constant :Queues

    # The adapter's.
    #
    #: (Array[ActiveJob::Base]) -> Array[ActiveJob::Base]
    def self.__enqueue(jobs) = Queues.enqueue(jobs)

    # Is the node that is at a job of this thread to stop?
    #
    #: () -> bool
    def self.__stopping? = Courier.child&.stopping? || false
  end
end

require "skep/rails/performer"
require "skep/rails/jobs"
