# frozen_string_literal: true

require_relative "scenario"

# The broker is killed while nodes read: each node says once that it is gone and once that it is
# back, none dies, and every message is handled.
KafkaScenario.play do
  topic = topic("orders", 4)
  swarm = run_swarm(reader(topic, nodes: 2))
  swarm.await("node_ready", times: 2)
  feed(topic, (0...1_000).map { |n| [n.to_s, "v"] })
  await_keys(1_000)
  broker.kill
  lost = swarm.await("kafka_disconnected", times: 2)
  must("name the broker: #{lost}") { lost.all? { |event| event["brokers"] == broker.address } }
  broker.start
  swarm.await("kafka_reconnected", times: 2)
  feed(topic, (1_000...2_000).map { |n| [n.to_s, "v"] })
  await_keys(2_000)

  must("handle every message") { keys.uniq.sort == (0...2_000).to_a }
  must("lose no node") { swarm.nodes.size == 2 }
  told = swarm.events.map { |event| event["event"] }.tally
  must("tell it once: #{swarm.account}") do
    told.values_at("kafka_disconnected", "kafka_reconnected") == [2, 2]
  end
  must("end with 0") { swarm.stop.exitstatus.zero? }
end
