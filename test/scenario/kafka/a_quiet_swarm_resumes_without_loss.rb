# frozen_string_literal: true

require_relative "scenario"

# Nodes are quiet while messages arrive, partitions move to another node and nodes are replaced.
# They begin nothing until `skep resume`. Then they handle every message, each once.
KafkaScenario.play do
  topic = topic("orders", 8)
  swarm = run_swarm(reader(topic, nodes: 2, more: ", threads: 3"))
  await_assignment(8, swarm, nodes: 2)
  feed(topic, (0...1_000).map { |n| [n.to_s, "v"] })
  await_keys(1_000)
  swarm.output_of("quiet")
  swarm.follow("both nodes are quiet") do
    swarm.status("readers")["nodes"].map { |node| node["state"] } == %w[quiet quiet]
  end
  feed(topic, (1_000...2_000).map { |n| [n.to_s, "v"] })
  swarm.output_of("scale", "3")
  await_assignment(8, swarm, nodes: 3)
  must("say that the swarm stays quiet") { swarm.output_of("restart").include?("stays quiet") }
  must("begin nothing while it is quiet: #{keys.size}") { keys.size == 1_000 }
  must("resume") { swarm.output_of("resume") == "resumed: nodes take new work\n" }
  await_keys(2_000)

  must("handle every message once") { keys.sort == (0...2_000).to_a }
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
