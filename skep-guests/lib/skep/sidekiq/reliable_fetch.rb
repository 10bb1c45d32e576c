# frozen_string_literal: true

require "sidekiq/fetch"

module Skep
  class Sidekiq < Guest
    # A fetch for Sidekiq that moves each job to a list of this process (JobLists), where it stays
    # until it is done. Sidekiq's own BasicFetch keeps jobs in memory only, so a killed process
    # loses them.
    class ReliableFetch < ::Sidekiq::BasicFetch
      # Seconds; a stop may be late by this, and with several queues a job may wait for so long. So
      # an idle thread sends two commands per second, however many queues there are.
      WAIT = 1.0
      private_constant :WAIT

      Job = Struct.new(:queue, :job, :fetch) do
        def queue_name = queue.delete_prefix("queue:")
        def acknowledge = fetch.done(job)
        def requeue = fetch.bulk_requeue([self])
      end

      def setup(lists) = @lists = lists

      def retrieve_work
        @lists.watch.take(nil)
        queue, job = redis { |redis| first(redis, queues_cmd) }
        return unless job

        @lists.watch.take(job)
        Job.new(queue, job, self)
      end

      def done(job)
        redis { |redis| @lists.done(redis, job) }
        @lists.watch.take(nil)
      end

      # If that fails, they stay in the list, and the next process takes them.
      def bulk_requeue(jobs)
        redis { |redis| jobs.each { |job| @lists.push_back(redis, job.job, job.queue) } }
      rescue ::RedisClient::Error => e
        logger.warn("#{jobs.size} jobs are pushed back later: #{e.message}")
      end

      private

      # Returns the first job in the order of the queues, which is Sidekiq's: strict, or at random
      # by their weights. Else waits for one of them.
      def first(redis, queues)
        @lists.take(redis, queues) || await(redis, queues.sample)
      end

      def await(redis, queue)
        command = ["BLMOVE", queue, @lists.own, "RIGHT", "LEFT", WAIT]
        [queue, redis.blocking_call(WAIT, *command)]
      end
    end
  end
end
