# frozen_string_literal: true

require "sidekiq/scheduled"

module Skep
  class Sidekiq < Guest
    # Pushes due jobs and retries into their queues, in Sidekiq's scheduler. Sidekiq's own Enq takes
    # a job out of Redis first: a process that is killed before it has pushed the job loses it. Here
    # the job is in the list of this process meanwhile (JobLists).
    class ReliableSchedule < ::Sidekiq::Scheduled::Enq
      def enqueue_jobs(sorted_sets = ::Sidekiq::Scheduled::SETS)
        lists = config[:fetch_setup]
        redis do |redis|
          sorted_sets.each do |set|
            while !@done && (job = lists.take_due(redis, set))
              @client.push(::Sidekiq.load_json(job))
              lists.done(redis, job)
            end
          end
        end
      end
    end
  end
end
