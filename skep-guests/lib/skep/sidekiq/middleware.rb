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

      # Sidekiq's Web UI shows the error that is in the job.
      def bury(job, why)
        error = JobCrashed.new(why)
        job = job.merge("error_class" => error.class.name, "error_message" => why)
        ::Sidekiq::DeadSet.new.kill(::Sidekiq.dump_json(job), ex: error)
      end
    end
  end
end
