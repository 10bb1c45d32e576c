# frozen_string_literal: true

# Sidekiq's embedded mode in each node. Guarantees and limits: README.md.
#
#   REDIS_URL=redis://localhost:6379/0 APP=/srv/shop/config/environment skep run swarm.rb
require "skep/sidekiq"

threads = Integer(ENV.fetch("THREADS", "2"))
stop_timeout = Integer(ENV.fetch("STOP_TIMEOUT", "30"))
queues = ENV.fetch("QUEUES", "default").split(",")
sidekiq = Skep::Sidekiq.new(threads:, queues:) { |config| config.logger.level = Logger::WARN }

Skep.swarm "jobs", nodes: 2, liveness_timeout: 30,
                   stop_timeout:, orphan_timeout: stop_timeout do |swarm|
  swarm.preload { require ENV.fetch("APP", "#{__dir__}/jobs") } # once, before the nodes are forked
  swarm.work(sidekiq)
end
