# frozen_string_literal: true

# Before Sidekiq, and before the application: as by Sidekiq's own command, jobs then run in Rails'
# executor.
require "rails" if $LOAD_PATH.resolve_feature_path("rails")
require "sidekiq"
require "socket"
require_relative "hands"
require_relative "kept_fetch"
require_relative "kept_jobs"
require_relative "turns"

# A source for `swarm.work` that runs Sidekiq's embedded mode in a node. The block of `swarm.work`
# gets Sidekiq's configuration.
#
#   swarm.work(SidekiqNode.new(threads: 5)) { |config| config.queues = %w[critical default] }
#
# Before the fork Sidekiq has no thread, no connection and no identity.
class SidekiqNode
  LOOK = 5 # seconds

  attr_reader :threads

  def initialize(threads:) = @threads = threads

  def errors = threads.positive? ? [] : ["threads must be 1 or more, not #{threads}"]
  def facts = { kind: "sidekiq", threads: }

  def run(node, configure)
    hands = Hands.new(threads)
    sidekiq = embed(node, configure)
    kept = KeptJobs.new(seat: "#{Socket.gethostname}/#{node.swarm}/#{node.id}",
                        owner: sidekiq.identity, hands:)
    begin_with(kept, sidekiq)
    node.ready!
    kept.inherit if node.wait_for_predecessor # the last process of this seat has ended
    serve(node, sidekiq, hands)
    kept.leave
  end

  private

  def embed(node, configure)
    turns = Turns.new(node, threads:)
    Sidekiq.configure_embed do |config|
      config.concurrency = threads
      config.server_middleware { |chain| chain.prepend(Turns::Middleware, turns) }
      configure.call(config)
    end
  end

  def begin_with(kept, sidekiq)
    config = sidekiq.config
    check(config.total_concurrency)
    config[:fetch_class], config[:fetch_setup] = KeptFetch, kept
    config.on(:beat) { kept.check } # every 10 s, after Sidekiq's heartbeat in Redis
    kept.register
    sidekiq.run
  rescue RedisClient::ConnectionError => e
    raise Skep::BootError, "Sidekiq can't reach Redis: #{e.message}"
  end

  def check(concurrency)
    concurrency == threads or
      raise Skep::BootError, "Sidekiq has #{concurrency} threads, but SidekiqNode #{threads}"
  end

  def serve(node, sidekiq, hands)
    hands.watch_over(attendants)
    until node.stopping?
      break if @quiet && !node.quiet? # Sidekiq can't resume: another node takes over

      node.quiet? ? quieten(sidekiq) : report(node, hands.problem)
      node.wait(LOOK)
    end
    quieten(sidekiq)
    sidekiq.stop # waits for jobs as long as config[:timeout], and pushes the others back
  end

  # Returns Sidekiq's threads that run no jobs.
  def attendants
    Thread.list.select { |one| one.name.to_s.match?(/\Asidekiq\..*(?<!processor)\z/) }
  end

  def quieten(sidekiq)
    @quiet = true
    sidekiq.quiet
  rescue StandardError => e # the error that Sidekiq's scheduler died of; a second call continues
    warn("Sidekiq's scheduler had died: #{e.message}")
  end

  def report(node, problem)
    node.unhealthy!(problem) if problem
    node.healthy! if @problem && problem.nil?
    @problem = problem
  end
end
