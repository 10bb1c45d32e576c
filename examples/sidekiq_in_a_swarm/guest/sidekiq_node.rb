# frozen_string_literal: true

require "sidekiq"
require "socket"
require_relative "hands"
require_relative "kept_fetch"
require_relative "kept_jobs"
require_relative "turns"

# Sidekiq's embedded mode as what a node does: a source for `swarm.work`, whose block is given
# Sidekiq's configuration.
#
#   swarm.work(SidekiqNode.new(threads: 5)) { |config| config.queues = %w[critical default] }
#
# Nothing of Sidekiq's runs before the fork: no thread, no connection, no name.
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
    kept.inherit if node.wait_for_predecessor # who had this seat is gone
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
    config.on(:beat) { kept.look } # every 10 s, when Sidekiq has told Redis that it is alive
    kept.sign
    sidekiq.run
  rescue RedisClient::ConnectionError => e
    raise Skep::BootError, "Sidekiq can't reach Redis: #{e.message}"
  end

  def check(concurrency)
    concurrency == threads or
      raise Skep::BootError, "Sidekiq is to have #{concurrency} threads, and SidekiqNode #{threads}"
  end

  def serve(node, sidekiq, hands)
    hands.watch_over(attendants)
    until node.stopping?
      node.quiet? ? quieten(sidekiq) : judge(node, hands.complaint)
      node.wait(LOOK)
    end
    quieten(sidekiq)
    sidekiq.stop # waits for jobs as long as config[:timeout], and pushes the others back
  end

  # Those of Sidekiq's threads that have no jobs: they do their service, or are missing.
  def attendants
    Thread.list.select { |one| one.name.to_s.match?(/\Asidekiq\..*(?<!processor)\z/) }
  end

  def quieten(sidekiq)
    sidekiq.quiet
  rescue StandardError => e # what Sidekiq's scheduler has died of: the second call goes on
    warn("Sidekiq's scheduler had died: #{e.message}")
  end

  def judge(node, complaint)
    node.unhealthy!(complaint) if complaint
    node.healthy! if @complaint && complaint.nil?
    @complaint = complaint
  end
end
