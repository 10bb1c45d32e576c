# frozen_string_literal: true

# Turns orders, JSON in a Kafka topic, into rows of a PostgreSQL table. Guarantees: README.md.
#
#   psql "$DATABASE_URL" -f schema.sql
#   KAFKA_BROKERS=kafka-1:9092 DATABASE_URL=postgresql://db/shop skep run swarm.rb
require "json"
require "skep/kafka"

kafka = { "bootstrap.servers": ENV.fetch("KAFKA_BROKERS"),
          **JSON.parse(ENV.fetch("KAFKA_SETTINGS", "{}")) }
source = Skep::Kafka::Source.new(kafka:, group: "orders-to-postgres", topics: "orders",
                                 dead_letter_topic: "orders.dead", max_attempts: 3)

Skep.swarm "orders", nodes: 2 do |swarm|
  table = nil
  swarm.preload { require_relative "order_table" } # once, before the nodes are forked
  swarm.on_boot { table = OrderTable.new(ENV.fetch("DATABASE_URL")) } # a connection for each node
  swarm.work(source) do |batch, node|
    orders = batch.map { |message|
      { **Hash(JSON.parse(message.payload)), kafka_offset: message.offset }
    }
    table.upsert(orders, node)
  rescue JSON::ParserError, TypeError, PG::IntegrityConstraintViolation => e # a retry wouldn't help
    raise e.extend(Skep::Kafka::NonRetryable)
  end
end
