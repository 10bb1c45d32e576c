# frozen_string_literal: true

# A static member that closes keeps its place: its partitions wait until its session is over. One
# that was scaled away leaves the group, so that the others have them at once. Waiting for the
# session, a minute here, would be seen.
require_relative "scenario"

KafkaScenario.play do
  topic = topic("orders", 8)
  kafka = { "session.timeout.ms" => "60000" }
  swarm = run_swarm(reader(topic, nodes: 1, kafka:))
  others = run_swarm(reader(topic, nodes: 1, kafka:).sub("\"readers\"", "\"others\""))
  share(8, swarm, others, among: 2)

  must("grow") { swarm.skep("scale", "readers", "3").nil? }
  share(8, swarm, others, among: 4)
  before = generation("readers")
  must("shrink") { swarm.skep("scale", "readers", "2").nil? }
  share(8, swarm, others, among: 3)
  must("change the group once") { generation("readers") == before + 1 }
  must("end with 0") { [swarm, others].all? { |one| one.stop.exitstatus.zero? } }
end
