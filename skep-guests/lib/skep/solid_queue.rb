# frozen_string_literal: true

require "skep/guest"

# Solid Queue itself is loaded by the application: before Rails it can't be.
Skep::Guest.needs("solid_queue", ">= 1.4", "< 2")

require "skep/solid_queue/actors"
require "skep/solid_queue/storable_error"
require "socket"

# A source for `swarm.work` that runs Solid Queue's workers, dispatchers and scheduler in a node, as
# threads, without its supervisor: skep is that.
#
#   swarm.work(Skep::SolidQueue.new(threads: 3))                        # config/queue.yml
#   swarm.work(Skep::SolidQueue.new(threads: 3, queues: %w[mail *]))
#
# A job is done at least once: if a process is killed, its successor releases the jobs that the
# process had claimed. Solid Queue itself would mark them as failed.
module Skep
  class SolidQueue < Guest
    # A job was in flight alone in several crashes, so it isn't run any more. Solid Queue keeps it
    # as failed with this error. It isn't a StandardError, so that no `retry_on` retries it.
    class JobCrashed < Exception
    end

    # threads: how many jobs a node runs at the same time, the sum of the workers in
    # config/queue.yml. queues: the queues of a single worker, and then that file isn't read.
    # longest: seconds that a job may take before its node is replaced, or a lambda that gets the
    # job and returns them; nil: there is no limit.
    def initialize(threads: 3, queues: nil, longest: LONGEST)
      super(threads:)
      @queues = queues
      @longest = longest.respond_to?(:call) ? longest : seconds(longest)
    end

    # The name of this kind of work.
    def work_name = "solid_queue"

    # Called by Active Job, around each job of this node.
    def __perform(job, work)
      crashed = nil
      longest = @longest.respond_to?(:call) ? @longest.call(job) : @longest
      @jobs.run("#{job.class} #{job.job_id}", longest, ->(why) { crashed = why }) { work.call }
      raise JobCrashed, crashed if crashed
    rescue Exception => e # Solid Queue stores any
      StorableError.make(e)
      raise
    end

    private

    def start(node, _configure)
      unless defined?(::SolidQueue::Configuration) && ::Rails.application
        raise WrongConfiguration, "Solid Queue isn't loaded: add " \
                                  "`swarm.preload { require_relative \"config/environment\" }`"
      end

      begin_work(node)
    end

    def begin_work(node)
      plans = configured
      @jobs = JobRunner.new(node, threads:)
      watch_jobs
      @actors = Actors.new(plans, slot: "#{Socket.gethostname}/#{node.swarm}/#{node.id}")
      @actors.start
    rescue ::ActiveRecord::ActiveRecordError => e
      raise Unavailable, "Solid Queue can't use its database: #{e.message.lines.first.chomp}"
    end

    # Returns Solid Queue's configurations of its actors.
    def configured
      configuration = ::SolidQueue::Configuration.new(mode: :async, **worker)
      unless configuration.valid?
        raise WrongConfiguration, "Solid Queue: #{configuration.errors.full_messages.join("; ")}"
      end

      configuration.configured_processes.tap { |plans| check(plans) }
    end

    def worker
      @queues ? { workers: [{ queues: @queues, threads: }], dispatchers: [{}] } : {}
    end

    def check(plans)
      workers = plans.select { |plan| plan.kind == :worker }.map(&:attributes)
      if workers.any? { |one| one.key?(:fibers) }
        raise WrongConfiguration, "Skep::SolidQueue watches threads: replace `fibers` by " \
                                  "`threads` in config/queue.yml, or run Solid Queue beside it"
      end

      sum = workers.sum { |one| one.fetch(:threads) }
      return if sum == threads

      raise WrongConfiguration, "config/queue.yml has workers with #{sum} threads, but " \
                                "Skep::SolidQueue #{threads}: give both the same number"
    end

    # Callbacks of Active Job are inherited, also by classes that are already loaded.
    def watch_jobs
      guest = self
      ::ActiveJob::Base.around_perform(prepend: true) { |job, work| guest.__perform(job, work) }
    end

    def began = @jobs.begin_work
    def problem = @actors.problem(jobs: @jobs.working?)

    def quieten
      @actors.quieten
      true
    end

    def stop(node)
      @actors.stop(stop_time(node) || ::SolidQueue.process_alive_threshold.to_f)
    end
  end
end
