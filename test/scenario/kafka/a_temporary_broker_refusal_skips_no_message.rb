# frozen_string_literal: true

# A swarm with KIP-848 assignment loses its grant to read the topic for some seconds. Meanwhile
# messages arrive, and the swarm gets one more node, so that some partitions move. Once the grant is
# back, each message is handled in its partition's order. Messages of moved partitions may be
# repeated, as the node cannot commit without the grant.
require_relative "scenario"
require_relative "support/sasl_listener"

PARTITIONS = 6

KafkaScenario.play do
  listener = SaslListener.new(broker)
  topic("orders", PARTITIONS)
  listener.grant(SaslListener::TOPIC, "orders")
  listener.grant(SaslListener::TOPIC, "orders", SaslListener::DESCRIBE)
  listener.grant(SaslListener::GROUP, "readers")
  swarm = run_swarm(reader("orders", nodes: 2,
                                     kafka: { **listener.login, "group.protocol" => "consumer" }))
  await_assignment(PARTITIONS, swarm, nodes: 2)
  produced = 0
  produce = lambda do |each|
    count = PARTITIONS * each
    feed("orders", (produced...produced += count).map { |id| [id.to_s, "v", id % PARTITIONS] })
  end

  produce.call(10)
  await_keys(produced)
  listener.revoke(SaslListener::TOPIC, "orders")
  refused = swarm.await("kafka_unauthorized", times: 2) { |event| event["partition"] }
  must("log which grant to add: #{refused}") do
    refused.all? { |event| event["hint"].include?("Read --op") }
  end
  produce.call(1)
  must("scale to 3") { swarm.skep("scale", "readers", "3").nil? }
  await_assignment(PARTITIONS, swarm, nodes: 3, seconds: 60)
  listener.grant(SaslListener::TOPIC, "orders")
  produce.call(10)
  await_keys(produced, seconds: 60)

  must("exit with 0") { swarm.stop.exitstatus.zero? }
  places = lines.map { |line| line.split[1] }.group_by { |place| place[%r{.*/}] }
  must("handle each message in order: #{places}") do
    places.size == PARTITIONS && places.all? do |start, found|
      found.uniq == Array.new(produced / PARTITIONS) { |offset| "#{start}#{offset}" }
    end
  end
end
