# frozen_string_literal: true

# The same file on two hosts of the same name: whoever comes later gets the places of the group. The
# others say so, each once, and go on without a name, instead of taking the places back for ever.
require_relative "scenario"

KafkaScenario.play do
  topic = topic("orders", 8)
  first = run_swarm(reader(topic, nodes: 2, more: ", threads: 2"))
  share(8, first, among: 2)
  second = run_swarm(reader(topic, nodes: 2))
  told = first.await("kafka_instance_id_taken", times: 2)
  names = [0, 1].map { |id| "readers-#{Socket.gethostname}-#{id}" }
  must("name them: #{told}") { told.map { |event| event["name"] }.sort == names }
  must("say what to do") { told.all? { |event| event["error"].include?("Set group.instance.id") } }

  share(8, first, second, among: 4)
  feed(topic, (0...4_000).map { |n| [n.to_s, "v", n % 8] })
  await_keys(4_000)
  second.kill(second.nodes.last) # by a name that is its own now
  second.await("node_ready", times: 3)
  share(8, first, second, among: 4)
  must("lose no node") { first.events.none? { |event| GONE.include?(event["event"]) } }
  must("end with 0") { [first, second].all? { |one| one.stop.exitstatus.zero? } }
  must("log it once each") do
    first.events.count { |event| event["event"] == "kafka_instance_id_taken" } == 2
  end
end
