# frozen_string_literal: true

require_relative "scenario"

# Nodes are killed repeatedly while messages arrive. Every message is handled, and kills repeat only
# uncommitted messages.
KafkaScenario.play do
  topic = topic("orders", 8)
  swarm = run_swarm(reader(topic, nodes: 3, more: ", commit_interval: 0.1",
                           options: ", max_restarts: 100"))
  victims = swarm.await("node_ready", times: 3).map { |event| event["pid"] }
  10.times do |round|
    feed(topic, (0...2_000).map { |n| [((round * 2_000) + n).to_s, "v" * 50] })
    swarm.kill(victims.shift)
    victims << swarm.await("node_ready")["pid"]
  end
  feed(topic, [["20000", "last"]])
  await_keys(20_001)

  must("handle every message") { keys.uniq.sort == (0..20_000).to_a }
  must("exit with 0") { swarm.stop.exitstatus.zero? }
  repeated = keys.size - keys.uniq.size
  puts "repeated #{repeated}"
  # A kill repeats at most the messages of 3 of 8 partitions of one round. Without commits it would
  # repeat the earlier rounds, too: about 36,000 messages in all.
  must("repeat only uncommitted messages: #{repeated}") { repeated < 10_000 }
end
