# frozen_string_literal: true

# The right to read a topic is taken away for some seconds from a swarm whose partitions the brokers
# assign (KIP-848). Meanwhile messages come, and a node more, so that some partitions move and the
# others stay: once it is allowed again, each message is handled, in its partition's order. (Those
# of partitions that move may come twice, as what was done can't be committed meanwhile.)
require_relative "scenario"
require_relative "support/door"

PARTITIONS = 6

KafkaScenario.play do
  door = Door.new(broker)
  topic("orders", PARTITIONS)
  door.allow(Door::TOPIC, "orders")
  door.allow(Door::TOPIC, "orders", Door::DESCRIBE)
  door.allow(Door::GROUP, "readers")
  swarm = run_swarm(reader("orders", nodes: 2,
                                     kafka: { **door.login, "group.protocol" => "consumer" }))
  share(PARTITIONS, swarm, among: 2)
  fed = 0
  more = lambda do |each|
    count = PARTITIONS * each
    feed("orders", (fed...fed += count).map { |id| [id.to_s, "v", id % PARTITIONS] })
  end

  more.call(10)
  await_keys(fed)
  door.refuse(Door::TOPIC, "orders")
  told = swarm.await("kafka_unauthorized", times: 2) { |event| event["partition"] }
  must("say what to allow: #{told}") { told.all? { |one| one["hint"].include?("Read --op") } }
  more.call(1)
  must("scale") { swarm.skep("scale", "readers", "3").nil? }
  share(PARTITIONS, swarm, among: 3, seconds: 60)
  door.allow(Door::TOPIC, "orders")
  more.call(10)
  await_keys(fed, seconds: 60)

  must("stop with 0") { swarm.stop.exitstatus.zero? }
  places = lines.map { |line| line.split[1] }.group_by { |place| place[%r{.*/}] }
  must("handle each, in order: #{places}") do
    places.size == PARTITIONS && places.all? do |start, found|
      found.uniq == Array.new(fed / PARTITIONS) { |offset| "#{start}#{offset}" }
    end
  end
end
