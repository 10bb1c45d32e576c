# frozen_string_literal: true

# The swarm of `skep demo`, an ordinary swarm file: nodes take orders out of a Kafka topic and
# handle each. Where the orders are comes by the environment; you could as well write it here.
#
#   kafka: { "bootstrap.servers": "localhost:9092" }, group: "shop", topics: ["orders"]

require "digest"
require "json"
require "skep/kafka"

source = Skep::Kafka::Source.new(
  kafka: JSON.parse(ENV.fetch("SKEP_DEMO_KAFKA")),
  group: ENV.fetch("SKEP_DEMO_TOPIC"),
  topics: ENV.fetch("SKEP_DEMO_TOPIC"),
  batch: 100,
  commit_every: 0.2 # seconds of work that a killed node's successor does again, at most
)

# A node killed often is an accident elsewhere, and restarted ever later. Here it is the point.
Skep.swarm "demo", restarts: 1_000_000 do |swarm|
  ledger = nil

  # In each node, before its first message: what can't be shared with other nodes is opened here.
  swarm.on_boot do |child|
    name = "#{child.id}-#{Process.pid}.ledger"
    ledger = File.open(File.join(ENV.fetch("SKEP_DEMO_LEDGERS"), name), "ab")
  end

  # A batch has messages of one partition, in order. When this block returns they are done; should
  # the node die before, they come again.
  swarm.work(source) do |batch, _child|
    batch.each do |message|
      order = JSON.parse(message.payload)
      cents = order["items"].sum { |item| item["count"] * item["cents"] }
      seal = "#{order["customer"]} owes #{cents} cents"
      100.times { seal = Digest::SHA256.digest(seal) } # some work for the processor

      # For the demo's accounts only: one write(2) for each message whose work is done.
      ledger.syswrite([order["id"], message.partition, message.offset].pack("LLQ"))
    end
  end
end
