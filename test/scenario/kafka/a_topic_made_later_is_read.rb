# frozen_string_literal: true

require_relative "scenario"

# A topic is missing at boot. skep logs kafka_topic_missing, the node becomes ready, and reads the
# topic once it is created.
KafkaScenario.play do
  swarm = run_swarm(reader("orders", nodes: 1))
  missing = swarm.await("kafka_topic_missing")
  must("name the missing topic: #{missing}") { missing["topic"] == "orders" }
  swarm.await("node_ready")
  topic("orders", 3)
  created = Skep::OS.now
  feed("orders", [["1", "v"]])
  await_keys(1)
  puts format("read %.1f s after its creation", Skep::OS.now - created)
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
