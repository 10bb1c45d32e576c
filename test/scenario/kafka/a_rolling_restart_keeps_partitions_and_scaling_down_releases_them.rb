# frozen_string_literal: true

# Two swarms, as on two hosts, share a group. A rolling restart of one swarm moves no partition:
# each new node takes over its predecessor's static membership. A node that is scaled away leaves
# the group, even if its handler hangs and it is killed. Other nodes get its partitions at once. The
# session timeout of a minute is longer than the scenario waits.
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
                         more: ", rebalance_wait: 2", body:)
  swarm = run_swarm(source)
  others = run_swarm(source.sub("\"readers\"", "\"others\"")
                           .sub("stop_timeout: 20", "stop_timeout: 3"))
  await_assignment(8, swarm, others, nodes: 4)
  feed(topic, (0...2_000).map { |n| [n.to_s, "v", n % 8] })

  before, changes = generation("readers"), rebalances(others)
  must("restart") { swarm.skep("restart", "readers").nil? }
  swarm.await("node_replaced", times: 2)
  await_assignment(8, swarm, others, nodes: 4)
  feed(topic, (2_000...4_000).map { |n| [n.to_s, "v", n % 8] })
  await_keys(4_000)
  must("move no partition: #{generation("readers") - before} rebalances") do
    generation("readers") == before && rebalances(others) == changes
  end

  must("scale to 1") { swarm.skep("scale", "readers", "1").nil? }
  await_assignment(8, swarm, others, nodes: 3)
  feed(topic, (4_000...4_800).map { |n| [n.to_s, "v", n % 8] })
  await_keys(4_800)
  must("handle each message") { keys.uniq.sort == (0...4_800).to_a }

  feed(topic, (0...8).map { |n| ["stuck", "v", n] })
  others.await("stuck", times: 2) # both of its nodes
  must("scale to 1") { others.skep("scale", "others", "1").nil? }
  others.await(GONE) { |event| event["reason"] == "stop_timeout" }
  await_assignment(8, swarm, others, nodes: 2)
  must("exit with 0") { swarm.stop.exitstatus.zero? }
  must("exit with 2") { others.stop.exitstatus == 2 }
end
