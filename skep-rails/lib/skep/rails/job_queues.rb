# frozen_string_literal: true

# Decides the topic and the key of each job, by its queue and its time, and enqueues it: the
# Active Job adapter (active_job/queue_adapters/skep_adapter.rb) calls it. This part of skep/rails
# needs the Kafka client; it is loaded when the adapter is chosen or a swarm runs jobs.
#
#   JobQueues.enqueue([job, another])   # => the jobs; raises EnqueueFailed
require "active_job"
require "skep/kafka"

require "skep/rails/job_topics"
require "skep/rails/delay_topics"
require "skep/rails/delay_timer"
require "skep/rails/job_producer"

module Skep
  module Rails
    module JobQueues
      NO_DELAYS = "A delayed job needs a delay topic (config.skep.delays is empty). " \
                  "Set config.skep.delays."
      private_constant :NO_DELAYS

      module_function

      # Returns once the brokers have acknowledged all jobs; inside a job at once (see JobProducer).
      def enqueue(jobs)
        requests = JobProducer.enqueue(jobs.map { |job| request(job) })
        requests.each { |request| record_outcome(request) }
        failed = requests.select(&:error)
        return jobs if failed.empty?

        raise EnqueueFailed.new(jobs: failed.map(&:job), of: jobs.size,
                                cause: failed.first.error.message)
      end

      # The topic for a job of this queue that is due in that many seconds.
      def topic(queue, seconds)
        due = topics.of(queue)
        return due unless seconds.positive?

        delays.topic(seconds) or raise NotImplementedError, NO_DELAYS
      end

      # Seconds until a job is due, by the wall clock: other machines read it, too.
      def seconds_until(time) = time ? time.to_f - Time.current.to_f : 0

      def topics = JobTopics.new(Rails.config.prefix, Rails.config.delays)
      def delays = DelayTopics.new(topics.delayed)

      def request(job)
        topic = topic(job.queue_name, seconds_until(job.scheduled_at))
        key = job.kafka_key&.to_s if job.respond_to?(:kafka_key)
        JobProducer::EnqueueRequest.new(job, topic, JSON.generate(job.serialize), key)
      end

      def record_outcome(request)
        job = request.job
        job.successfully_enqueued = request.error.nil?
        job.enqueue_error = request.error
        job.provider_job_id = request.place&.to_s
      end
      private_class_method :request, :record_outcome
    end
    private_constant :JobQueues

    # For the adapter.
    def self.__enqueue(jobs) = JobQueues.enqueue(jobs)

    # Returns true if this thread runs a job and its node is stopping.
    def self.__stopping? = JobProducer.node&.stopping? || false
  end
end

require "skep/rails/job_runner"
require "skep/rails/job_source"
