# frozen_string_literal: true

# What `karafka swarm` loads. What a node runs right after its fork is taken for its first line of
# work.
require "karafka"
require_relative "errand"

class Worker < Karafka::BaseConsumer
  def consume = Errand.busy
end

class KarafkaApp < Karafka::App
  setup do |config|
    config.kafka = { "bootstrap.servers": ENV.fetch("SKEP_BENCH_BROKERS") }
    config.client_id = "skep-bench"
    config.swarm.nodes = Errand.count
  end

  routes.draw { topic(:work) { consumer Worker } }
end

Karafka.monitor.subscribe("swarm.node.after_fork") { Errand.begin }
Errand.preload
