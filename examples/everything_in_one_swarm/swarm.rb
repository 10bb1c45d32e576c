# frozen_string_literal: true

# A web server, its jobs and a Kafka consumer in one swarm: the application is loaded once for all.
#
#   REDIS_URL=redis://localhost:6379/0 KAFKA_BROKERS=kafka-1:9092 \
#     skep-listen 9292 skep run swarm.rb
require "skep/kafka"
require "skep/puma"
require "skep/sidekiq"

kafka = { "bootstrap.servers": ENV.fetch("KAFKA_BROKERS"), "auto.offset.reset": "earliest",
          **JSON.parse(ENV.fetch("KAFKA_SETTINGS", "{}"), symbolize_names: true) }
web = Skep::Puma.new(threads: 5, config: "-") { APP } # without a config/puma.rb
jobs = Skep::Sidekiq.new(threads: 2) { |config| config.logger.level = Logger::WARN }
orders = Skep::Kafka::Source.new(kafka:, group: "shop", topics: "orders", threads: 2,
                                 deserializer: :json, dead_letter_topic: "orders.dead")

Skep.swarm "shop", stop_timeout: 30, orphan_timeout: 30 do |swarm|
  swarm.preload { require_relative "app" } # once, before the nodes are forked
  swarm.work(web, nodes: 2)
  swarm.work(jobs, nodes: 1)
  swarm.work(orders, nodes: 1) { |batch| Orders.add(batch.map(&:value)) }
end
