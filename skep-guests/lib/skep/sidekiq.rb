# frozen_string_literal: true

require "skep/guest"

# From the oldest version that was tried; a new major version may have changed what this uses.
Skep::Guest.needs("sidekiq", ">= 7.3", "< 9")

# Before Sidekiq, and before the application: as by Sidekiq's own command, jobs then run in Rails'
# executor.
require "rails" if $LOAD_PATH.resolve_feature_path("rails")
require "sidekiq"
require "skep/sidekiq/job_lists"
require "skep/sidekiq/middleware"
require "skep/sidekiq/reliable_fetch"
require "skep/sidekiq/reliable_schedule"
require "skep/sidekiq/thread_watch"
require "socket"

# A source for `swarm.work` that runs Sidekiq's embedded mode in a node.
#
#   swarm.work(Skep::Sidekiq.new(threads: 5, queues: %w[critical default]))
#   swarm.work(Skep::Sidekiq.new(threads: 5) { |config| config.queues = %w[critical,2 default] })
#
# Before the fork Sidekiq has no thread, no connection and no identity. A job is done at least once,
# whatever is killed, as long as Redis keeps its data (ReliableFetch).
module Skep
  class Sidekiq < Guest
    # A job was in flight alone in several crashes: the error with which it is in the dead set, and
    # which Sidekiq's death handlers get.
    class JobCrashed < StandardError
    end

    # queues: as `config.queues`. longest: seconds that a job may take before its node is replaced,
    # unless its class has `sidekiq_options longest: SECONDS`. reliable_fetch: false leaves the
    # fetch to Sidekiq, for super_fetch of Sidekiq Pro. The block gets Sidekiq's configuration, in
    # the node.
    def initialize(threads: 5, queues: nil, longest: LONGEST, reliable_fetch: true, &configure)
      super(threads:, &configure)
      @queues, @reliable_fetch = queues, reliable_fetch
      @longest = seconds(longest)
    end

    # The name of this kind of work.
    def work_name = "sidekiq"

    private

    def start(node, configure)
      @watch = ThreadWatch.new(threads, fetches: @reliable_fetch)
      @sidekiq = embed(node, configure)
      check(@sidekiq.config.total_concurrency)
      keep_jobs(node) if @reliable_fetch
      @sidekiq.run
      @watch.began
    rescue ::RedisClient::ConnectionError => e
      raise Unavailable, "Sidekiq can't reach Redis: #{e.message}"
    end

    def embed(node, configure)
      @jobs = jobs = JobRunner.new(node, threads:)
      ::Sidekiq.configure_embed do |config|
        config.concurrency = threads
        config.queues = @queues if @queues
        config[:timeout] = stop_time(node) || config[:timeout]
        config.server_middleware { |chain| chain.prepend(Middleware, jobs, @longest) }
        configure.call(config)
      end
    end

    def check(concurrency)
      concurrency == threads or
        raise WrongConfiguration, "Sidekiq has #{concurrency} threads, but Skep::Sidekiq " \
                                  "#{threads}: give the sum of all capsules to `threads:`"
    end

    def keep_jobs(node)
      @lists = JobLists.new(slot: "#{Socket.gethostname}/#{node.swarm}/#{node.id}",
                            owner: @sidekiq.identity, watch: @watch)
      config = @sidekiq.config
      config[:fetch_class], config[:fetch_setup] = ReliableFetch, @lists
      config[:scheduled_enq] = ReliableSchedule
      config.on(:beat) { @lists.check } # every 10 s, after Sidekiq's heartbeat in Redis
      @lists.register
    end

    def began = @jobs.begin_work
    def joined(_node) = @lists&.inherit
    def problem = @watch.problem

    def quieten
      @sidekiq.quiet
      true
    rescue StandardError => e # what Sidekiq's scheduler died of; a second call continues
      warn("Sidekiq's scheduler had died: #{e.message}")
      true
    end

    # Sidekiq waits for jobs as long as config[:timeout], and pushes the others back.
    def stop(_node)
      quieten
      @sidekiq.stop
      @lists&.leave
    end
  end
end
