# frozen_string_literal: true

require "sidekiq/api"

module Skep
  class Sidekiq < Guest
    # Sidekiq's middleware around each job: JobRunner runs it. A job that has crashed its process
    # too often goes to Sidekiq's dead set.
    class Middleware
      include ::Sidekiq::ServerMiddleware

      def initialize(jobs, longest)
        @jobs = jobs
        @longest = longest
      end

      def call(_worker, job, _queue, &work)
        name = "#{job["wrapped"] || job["class"]} #{job["jid"]}"
        @jobs.run(name, job.fetch("longest", @longest), ->(why) { bury(job, why) }, &work)
      end

      private

      def bury(job, why)
        ::Sidekiq::DeadSet.new.kill(::Sidekiq.dump_json(job), ex: RuntimeError.new(why))
      end
    end
  end
end
