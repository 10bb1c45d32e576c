# frozen_string_literal: true

# The swarm of `bin/demo`, an ordinary swarm file: nodes read orders from a Kafka topic. The demo
# gives the broker and the topic in the environment. In a file of your own it would be:
#
#   kafka: { "bootstrap.servers": "localhost:9092" }, group: "shop", topics: ["orders"]

require "digest"
require "json"
require "skep/kafka"

source = Skep::Kafka::Source.new(
  kafka: JSON.parse(ENV.fetch("SKEP_DEMO_KAFKA")),
  group: ENV.fetch("SKEP_DEMO_TOPIC"),
  topics: ENV.fetch("SKEP_DEMO_TOPIC"),
  max_messages: 100,
  commit_interval: 0.2 # seconds: what was done since comes again after a rebalance
)

# Elsewhere the sixth crash within a minute is a crash loop, and restarts are delayed.
Skep.swarm "demo", max_restarts: 1_000_000 do |swarm|
  ledger = nil

  # In each node, before its first message: opens what nodes can't share.
  swarm.on_boot do |node|
    name = "#{node.id}-#{Process.pid}.ledger"
    ledger = File.open(File.join(ENV.fetch("SKEP_DEMO_LEDGERS"), name), "ab")
  end

  # A batch has messages of one partition, in order. They are done when this block returns. If the
  # node dies before, they are delivered again.
  swarm.work(source) do |batch, _node|
    batch.each do |message|
      order = JSON.parse(message.payload)
      cents = order["items"].sum { |item| item["count"] * item["cents"] }
      seal = "#{order["customer"]} owes #{cents} cents"
      100.times { seal = Digest::SHA256.digest(seal) } # some work for the processor

      # For the demo only: one write(2) for each message whose work is done.
      ledger.syswrite([order["id"], message.partition, message.offset].pack("LLQ"))
    end
  end
end
