# frozen_string_literal: true

require_relative "scenario"

# Nodes commit offsets at a stop and at a rebalance. Swarms of a group start and stop, with a
# commit_interval of 600 s, and no message is handled twice.
KafkaScenario.play do
  topic = topic("orders", 8)
  more = ", commit_interval: 600, max_messages: 50"
  body = "IO.select(nil, nil, nil, 0.02)" # so that batches are in progress at the rebalance
  first = run_swarm(reader(topic, nodes: 1, more:, body:))
  first.await("node_ready")
  feed(topic, (0...20_000).map { |n| [n.to_s, "v"] })
  first.await("kafka_rebalance") { |event| event["change"] == "assigned" }
  second = run_swarm(reader(topic, nodes: 2, more:, body:).sub("\"readers\"", "\"others\""))
  first.await("kafka_rebalance") { |event| event["change"] == "revoked" }
  await_keys(20_000, seconds: 60)
  must("exit with 0") { first.stop.exitstatus.zero? }
  feed(topic, (20_000...24_000).map { |n| [n.to_s, "v"] })
  must("exit with 0") { second.stop.exitstatus.zero? }
  third = run_swarm(reader(topic, nodes: 1, more:, kafka: { "group.instance.id" => nil }))
  # The stopped nodes are static members: they keep their partitions until their sessions time out.
  await_keys(24_000, seconds: 90)
  must("exit with 0") { third.stop.exitstatus.zero? }

  duplicates = keys.tally.count { |_, times| times > 1 }
  must("handle each message once, not #{duplicates} twice") { keys.sort == (0...24_000).to_a }
  must("use several nodes") { lines.map { |line| line.split[0] }.uniq.size > 1 }
end
