# frozen_string_literal: true

# Makes a thumbnail of each image that a message names. Nodes do such calculations in parallel,
# threads don't. README.md: how it scales.
#
#   KAFKA_BROKERS=kafka-1:9092 THUMBNAILS=/srv/thumbnails skep run swarm.rb
require "json"
require "skep/kafka"

kafka = { "bootstrap.servers": ENV.fetch("KAFKA_BROKERS"),
          **JSON.parse(ENV.fetch("KAFKA_SETTINGS", "{}")) }
source = Skep::Kafka::Source.new(kafka:, group: "thumbnails", topics: "images", max_messages: 20,
                                 dead_letter_topic: "images.dead", max_attempts: 2)

Skep.swarm "thumbnails" do |swarm| # as many nodes as processors
  swarm.preload { require_relative "thumbnail" }
  swarm.work(source) do |batch|
    batch.each do |message|
      name = File.basename(message.payload, ".ppm")
      Thumbnail.of(message.payload).write(File.join(ENV.fetch("THUMBNAILS"), "#{name}.png"))
    rescue Errno::ENOENT, ArgumentError => e # no image: a retry wouldn't help
      raise e.extend(Skep::Kafka::NonRetryable)
    end
  end
end
