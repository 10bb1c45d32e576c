# frozen_string_literal: true

require_relative "scenario"

# Nodes are killed again and again while messages pour in: each message is handled, and each
# partition's in order.
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
  must("end with 0") { swarm.stop.exitstatus.zero? }
  repeated = keys.size - keys.uniq.size
  puts "repeated #{repeated}"
  # What a killed node had done and not committed: of a round 3 of 8 partitions at most. Without
  # commits each kill would repeat the earlier rounds, too: some 36,000 messages in all.
  must("repeat only uncommitted messages: #{repeated}") { repeated < 10_000 }
end
