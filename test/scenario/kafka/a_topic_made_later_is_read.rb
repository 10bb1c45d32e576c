# frozen_string_literal: true

require_relative "scenario"

# A topic is missing at boot. skep logs kafka_topic_missing once, and no error. The node becomes
# ready, and reads the topic once it is created.
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
  counts = swarm.events.map { |event| event["event"] }.tally
  must("log it once, and no error, not #{counts}") do
    counts["kafka_topic_missing"] == 1 && !counts["kafka_error"]
  end
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
