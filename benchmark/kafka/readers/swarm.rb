# frozen_string_literal: true

# skep, run by `skep run`: one swarm, as users write it.
require "skep/kafka"
require_relative "tally"

Skep.swarm "bench", nodes: Tally.wish("workers") do |swarm|
  source = Skep::Kafka::Source.new(kafka: Tally.settings, group: Tally.wish("group"),
                                   topics: Tally.wish("topic"))
  work = { "payload" => ->(batch) { batch.each { |message| message.payload } },
           "payloads" => ->(batch) { batch.payloads } }
  work.default = ->(batch) { batch.each { |message| Tally.work(message.payload) } }
  swarm.work(source) do |batch|
    work[Tally.wish("work")].call(batch)
    Tally.add(batch.size)
  end
end
