# frozen_string_literal: true

require_relative "scenario"

# Nodes are killed again and again while messages pour in: each message is handled, and each
# partition's in order.
KafkaScenario.play do
  topic = topic("orders", 8)
  swarm = run_swarm(reader(topic, nodes: 3, more: ", commit_every: 0.1",
                           options: ", restarts: 100"))
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
  must("repeat no more than what was in hand or uncommitted") { repeated < 20_000 }
  puts "repeated #{repeated}"
end
