# frozen_string_literal: true

require_relative "scenario"

# A topic that doesn't exist at boot is told, the node is ready all the same, and reads it once
# somebody has made it.
KafkaScenario.play do
  swarm = run_swarm(reader("orders", nodes: 1))
  missing = swarm.await("kafka_topic_missing")
  must("name it: #{missing}") { missing["topic"] == "orders" }
  swarm.await("node_ready")
  topic("orders", 3)
  made = Skep::OS.now
  feed("orders", [["1", "v"]])
  await_keys(1)
  puts format("read %.1f s after it was made", Skep::OS.now - made)
  must("end with 0") { swarm.stop.exitstatus.zero? }
end
