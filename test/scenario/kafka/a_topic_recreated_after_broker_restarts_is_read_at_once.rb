# frozen_string_literal: true

# A topic is deleted and created again after its broker was restarted twice. The old topic's leader
# epoch is 2 then, and that of the new one 0: librdkafka ignores the new topic's metadata as
# outdated. The node is replaced. Its successor reads the new topic from its beginning, and other
# topics from where they were. That takes seconds: no partition is stalled first.
require_relative "scenario"

KafkaScenario.play do
  orders, others = topic("orders", 1), topic("others", 1)
  2.times { broker.kill.then { broker.start } }
  swarm = run_swarm(reader([orders, others], nodes: 1, more: ", commit_interval: 0.2"))
  swarm.await("node_assigned")
  feed(orders, (0...500).map { |n| [n.to_s, "v"] })
  feed(others, (10_000...10_100).map { |n| [n.to_s, "v"] })
  await_keys(600)
  recreate(orders)
  began = Skep::OS.now
  feed(orders, (500...2_000).map { |n| [n.to_s, "v"] })
  feed(others, (10_100...10_200).map { |n| [n.to_s, "v"] })
  await_keys(2_200)
  puts format("read after %.1f s", Skep::OS.now - began)

  recreated = swarm.await("kafka_topic_recreated")
  must("name the topic: #{recreated}") { recreated["partitions"] == { orders => [0] } }
  swarm.await("node_ready") { |event| event["pid"] != recreated["pid"] }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  stalled = swarm.events.select { |event| event["event"] == "kafka_stalled" }
  must("stall nothing: #{stalled}") { stalled.empty? }
  must("repeat nothing") { keys.size == 2_200 }
end
