# frozen_string_literal: true

# skep with its source and the Rails application, run by `skep run`.
require "skep/kafka"
require_relative "handler"

source = Skep::Kafka::Source.new(kafka: Handler.wish("kafka"), group: Handler.wish("group"),
                                 topics: Handler.wish("topic"),
                                 dead_letter_topic: Handler.wish("dead"))
Skep.swarm "bench", nodes: WorkerApp.count, **WorkerApp.options do |swarm|
  swarm.preload { Shop.boot }
  swarm.work(source) { |batch| batch.each { |message| Shop.call(message.payload) } }
end
