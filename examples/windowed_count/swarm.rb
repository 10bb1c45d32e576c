# frozen_string_literal: true

# Counts the views of each page in each minute, by the time of the view. README.md: where the state
# is, and why the counts are right after any crash.
#
#   psql "$DATABASE_URL" -f schema.sql
#   KAFKA_BROKERS=kafka-1:9092 DATABASE_URL=postgresql://db/site skep run swarm.rb
require "json"
require "skep/kafka"

kafka = { "bootstrap.servers": ENV.fetch("KAFKA_BROKERS"),
          **JSON.parse(ENV.fetch("KAFKA_SETTINGS", "{}")) }
source = Skep::Kafka::Source.new(kafka:, group: "page-views", topics: "views",
                                 dead_letter_topic: "views.dead", max_attempts: 3)

Skep.swarm "page-views", nodes: 2 do |swarm|
  counts = nil
  swarm.preload { require_relative "counts" }
  swarm.on_boot { counts = Counts.new(ENV.fetch("DATABASE_URL")) }
  swarm.work(source) { |batch, node| counts.add(batch, node) }
end
