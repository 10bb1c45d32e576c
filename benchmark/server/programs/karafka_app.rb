# frozen_string_literal: true

# The application of `karafka swarm`. The first callback of a node after its fork counts as its
# first line of work.
require "karafka"
require_relative "worker_app"

class Worker < Karafka::BaseConsumer
  def consume = WorkerApp.busy
end

class KarafkaApp < Karafka::App
  setup do |config|
    config.kafka = { "bootstrap.servers": ENV.fetch("SKEP_BENCH_BROKERS") }
    config.client_id = "skep-bench"
    config.swarm.nodes = WorkerApp.count
    WorkerApp.options.each do |name, value|
      (name == :shutdown_timeout ? config : config.internal.swarm).public_send(:"#{name}=", value)
    end
  end

  routes.draw { topic(:work) { consumer Worker } }
end

Karafka.monitor.subscribe("swarm.node.after_fork") { WorkerApp.begin }
WorkerApp.preload
