# frozen_string_literal: true

require "sidekiq/fetch"

module Skep
  class Sidekiq < Guest
    # A fetch for Sidekiq that moves each job to a list of this process (JobLists), where it stays
    # until it is done. Sidekiq's own BasicFetch keeps jobs in memory only, so a killed process
    # loses them.
    class ReliableFetch < ::Sidekiq::BasicFetch
      WAIT = 1.0 # seconds; a stop may be late by this
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
        redis { |redis| redis.call("LREM", @lists.own, 1, job) }
        @lists.watch.take(nil)
      end

      # If that fails, they stay in the list, and the next process takes them.
      def bulk_requeue(jobs)
        redis { |redis| jobs.each { |job| @lists.push_back(redis, job.job, job.queue) } }
      rescue ::RedisClient::Error => e
        logger.warn("#{jobs.size} jobs are pushed back later: #{e.message}")
      end

      private

      # Returns the first job in the order of the queues, else waits for one of them.
      def first(redis, queues)
        queues.each do |queue|
          job = redis.call("LMOVE", queue, @lists.own, "RIGHT", "LEFT")
          return [queue, job] if job
        end
        await(redis, queues.sample, WAIT / queues.size)
      end

      def await(redis, queue, seconds)
        command = ["BLMOVE", queue, @lists.own, "RIGHT", "LEFT", seconds]
        [queue, redis.blocking_call(seconds, *command)]
      end
    end
  end
end
