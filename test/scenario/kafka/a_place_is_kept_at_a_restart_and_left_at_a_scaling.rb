# frozen_string_literal: true

# Two swarms, as on two hosts, share a group. A rolling restart of one moves no partition of either:
# each new node takes its predecessor's place, which a static member keeps when it closes. One that
# was scaled away leaves the group, so that the others have its partitions at once, even if its
# handler doesn't end and it has to be killed. Waiting for the session, a minute here, would be
# seen.
require_relative "scenario"

KafkaScenario.play do
  topic = topic("orders", 8)
  body = <<~'RUBY'
    if node.swarm == "others" && batch.any? { |message| message.key == "stuck" }
      node.event(:stuck)
      node.wait(60) && IO.select(nil, nil, nil, 60)
    end
  RUBY
  source = reader(topic, nodes: 2, kafka: { "session.timeout.ms" => "60000" },
                         more: ", rebalance_wait: 2", body:) # both nodes of "others" get stuck
  swarm = run_swarm(source)
  others = run_swarm(source.sub("\"readers\"", "\"others\"")
                           .sub("stop_timeout: 20", "stop_timeout: 3"))
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

  feed(topic, (0...8).map { |n| ["stuck", "v", n] })
  others.await("stuck", times: 2)
  must("shrink") { others.skep("scale", "others", "1").nil? }
  others.await(GONE) { |event| event["reason"] == "stop_timeout" }
  share(8, swarm, others, among: 2)
  must("end with 0") { swarm.stop.exitstatus.zero? }
  must("end by force") { others.stop.exitstatus == 2 }
end
