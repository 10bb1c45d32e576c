# frozen_string_literal: true

# Two swarms, as on two hosts, share a group. A rolling restart of one moves no partition of either:
# each new node takes its predecessor's place, which a static member keeps when it closes. One that
# was scaled away leaves the group, so that the others have its partitions at once. Waiting for the
# session, a minute here, would be seen.
require_relative "scenario"

KafkaScenario.play do
  topic = topic("orders", 8)
  kafka = { "session.timeout.ms" => "60000" }
  swarm = run_swarm(reader(topic, nodes: 2, kafka:))
  others = run_swarm(reader(topic, nodes: 2, kafka:).sub("\"readers\"", "\"others\""))
  share(8, swarm, others, among: 4)
  feed(topic, (0...2_000).map { |n| [n.to_s, "v", n % 8] })

  before, changes = generation("readers"), rebalances(others)
  must("restart") { swarm.skep("restart", "readers").nil? }
  swarm.await("node_replaced", times: 2)
  share(8, swarm, others, among: 4)
  feed(topic, (2_000...4_000).map { |n| [n.to_s, "v", n % 8] })
  await_keys(4_000)
  must("move nothing: #{generation("readers") - before} rebalances") do
    generation("readers") == before && rebalances(others) == changes
  end

  must("shrink") { swarm.skep("scale", "readers", "1").nil? }
  share(8, swarm, others, among: 3)
  feed(topic, (4_000...4_800).map { |n| [n.to_s, "v", n % 8] })
  await_keys(4_800)
  must("handle each message") { keys.uniq.sort == (0...4_800).to_a }
  must("end with 0") { [swarm, others].all? { |one| one.stop.exitstatus.zero? } }
end
