# frozen_string_literal: true

# Two hosts with the same hostname run the same file. The later nodes take over the instance ids of
# the earlier ones. The earlier nodes log that, each once, and continue without an instance id. So
# the nodes don't take the ids from each other for ever.
require_relative "scenario"

KafkaScenario.play do
  topic = topic("orders", 8)
  first = run_swarm(reader(topic, nodes: 2, more: ", threads: 2"))
  await_assignment(8, first, nodes: 2)
  second = run_swarm(reader(topic, nodes: 2))
  taken = first.await("kafka_instance_id_taken", times: 2)
  names = [0, 1].map { |id| "readers-#{Socket.gethostname}-#{id}" }
  must("name the instance ids: #{taken}") { taken.map { |event| event["name"] }.sort == names }
  must("advise to set group.instance.id") do
    taken.all? { |event| event["error"].include?("Set group.instance.id") }
  end

  await_assignment(8, first, second, nodes: 4)
  feed(topic, (0...4_000).map { |n| [n.to_s, "v", n % 8] })
  await_keys(4_000)
  second.kill(second.nodes.last) # its instance id belongs to it alone now
  second.await("node_ready", times: 3)
  await_assignment(8, first, second, nodes: 4)
  must("keep every node of the first swarm alive") do
    first.events.none? { |event| GONE.include?(event["event"]) }
  end
  must("exit with 0") { [first, second].all? { |one| one.stop.exitstatus.zero? } }
  must("log it once for each node") do
    first.events.count { |event| event["event"] == "kafka_instance_id_taken" } == 2
  end
end
