# frozen_string_literal: true

require_relative "scenario"

# The broker is killed while nodes read. Each node logs the disconnection once and the reconnection
# once. No node exits, and every message is handled.
KafkaScenario.play do
  topic = topic("orders", 4)
  swarm = run_swarm(reader(topic, nodes: 2))
  swarm.await("node_ready", times: 2)
  feed(topic, (0...1_000).map { |n| [n.to_s, "v"] })
  await_keys(1_000)
  broker.kill
  lost = swarm.await("kafka_disconnected", times: 2)
  must("name the broker in kafka_disconnected: #{lost}") do
    lost.all? { |event| event["brokers"] == broker.address }
  end
  broker.start
  swarm.await("kafka_reconnected", times: 2)
  feed(topic, (1_000...2_000).map { |n| [n.to_s, "v"] })
  await_keys(2_000)

  must("handle every message") { keys.uniq.sort == (0...2_000).to_a }
  must("keep every node alive") { swarm.nodes.size == 2 }
  counts = swarm.events.map { |event| event["event"] }.tally
  must("log each event once for each node: #{swarm.account}") do
    counts.values_at("kafka_disconnected", "kafka_reconnected") == [2, 2]
  end
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
