# frozen_string_literal: true

# Karafka's embedded mode in each node. Guarantees and limits: README.md.
#
#   KAFKA_BROKERS=kafka-1:9092 bundle exec skep run swarm.rb
require "skep/karafka"

threads = Integer(ENV.fetch("THREADS", "2"))

Skep.swarm "ledger", nodes: 2, liveness_timeout: 30,
                     stop_timeout: 30 do |swarm|
  swarm.preload { require_relative "orders_consumer" } # once, before the nodes are forked

  # The block runs in each node, because each has its own name in the group.
  swarm.work(Skep::Karafka.new(threads:) { require_relative "karafka" })
end
