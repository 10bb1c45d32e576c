# frozen_string_literal: true

require "json"
require "socket"

# An application's own karafka.rb, except for the instance id, which is different in each node.
class KarafkaApp < Karafka::App
  # Only nodes have a number: not the console, nor rake.
  node = ENV.fetch("SKEP_NODE_ID", nil)
  member = node && "ledger-#{Socket.gethostname}-#{node}"

  setup do |config|
    config.client_id = "ledger"
    config.logger = Logger.new($stdout, level: :warn)
    config.kafka = {
      "bootstrap.servers": ENV.fetch("KAFKA_BROKERS"),
      "auto.offset.reset": "earliest",
      "group.instance.id": member,
      **JSON.parse(ENV.fetch("KAFKA_SETTINGS", "{}"), symbolize_names: true)
    }.compact
    config.concurrency = Integer(ENV.fetch("THREADS", "2")) # as Skep::Karafka's threads
    config.shutdown_timeout = 25_000 # less than the swarm's stop_timeout
  end

  routes.draw do
    consumer_group "ledger" do
      topic(:orders) { consumer OrdersConsumer }
    end
  end
end
