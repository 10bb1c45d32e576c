# frozen_string_literal: true

# Sidekiq's embedded mode in each node. Guarantees and limits: README.md.
#
#   REDIS_URL=redis://localhost:6379/0 APP=/srv/shop/config/environment skep run swarm.rb
require_relative "guest/sidekiq_node"

sidekiq = SidekiqNode.new(threads: Integer(ENV.fetch("THREADS", "2")))
stop_timeout = Integer(ENV.fetch("STOP_TIMEOUT", "30"))

Skep.swarm "jobs", nodes: 2, liveness_timeout: 30,
                   stop_timeout:, orphan_timeout: stop_timeout do |swarm|
  swarm.preload { require ENV.fetch("APP", "#{__dir__}/jobs") } # once, before the nodes are forked

  swarm.work(sidekiq) do |config| # in each node, before Sidekiq runs
    config.queues = ENV.fetch("QUEUES", "default").split(",")
    config.logger.level = Logger::WARN
    config[:timeout] = stop_timeout - 5 # then Sidekiq pushes back unfinished jobs
  end
end
