# frozen_string_literal: true

require_relative "scenario"

# Four nodes are stopped under load and started again. No message is handled twice. ROUNDS is the
# number of rounds. Runs on the embedded broker, or on a real one with SKEP_KAFKA_BROKER. During a
# rebalance the embedded broker refuses commits, so it delays the first rebalance until all nodes
# have joined. There, a node that asks for its assignment after the leader must join again. With a
# round-trip time of 50 ms the leader, which first fetches the metadata, asks last.
class PlainStop < KafkaScenario
  ROUNDS = Integer(ENV.fetch("ROUNDS", "3"))
  PARTITIONS = 8
  MESSAGES = 4_000

  # An embedded broker with the interface that KafkaScenario uses.
  class Embedded
    def initialize(broker) = @broker = broker
    def address = @broker.bootstrap_servers

    def settings
      { **@broker.settings.except("bootstrap.servers"), "session.timeout.ms" => 20_000 }
    end

    def create_topic(...) = @broker.create_topic(...)
  end
  private_constant :Embedded

  def self.embedded? = !Broker::PROGRAM

  def broker
    return super unless PlainStop.embedded?

    @broker ||= begin
      embedded = Skep::Kafka::EmbeddedBroker.start(rebalance_delay: Patience.of(2),
                                                   round_trip_time: 0.05)
      at_end { embedded.stop }
      Embedded.new(embedded)
    end
  end

  def topic(name, partitions)
    return super unless PlainStop.embedded?

    broker.create_topic(name, partitions)
    name
  end

  # Stops the nodes while each has a batch in progress. Returns the number of duplicates.
  def round(number)
    topic = topic("orders#{number}", PARTITIONS)
    first = start(topic, number)
    await_assignment(PARTITIONS, first, nodes: 4)
    messages = (0...MESSAGES).map { |n| ["#{number}-#{n}", "v", n % PARTITIONS] }
    load = Thread.new { feed(topic, messages) }
    first.follow("some messages are handled") { handled(number).size > MESSAGES / 8 }
    must("exit with 0") { first.stop.exitstatus.zero? }
    load.join
    before = handled(number)
    second = start(topic, number)
    second.follow("all messages are handled", seconds: 60) { handled(number).uniq.size == MESSAGES }
    must("exit with 0") { second.stop.exitstatus.zero? }
    count_duplicates(number, before, first)
  end

  def start(topic, number)
    kafka = PlainStop.embedded? ? broker.settings : { "group.instance.id" => nil }
    run_swarm(reader(topic, nodes: 4, group: "readers#{number}", kafka:, more: ", max_messages: 20",
                            body: "IO.select(nil, nil, nil, 0.01 + rand(0.1))"))
  end

  def count_duplicates(number, before, swarm)
    after = handled(number).drop(before.size)
    duplicates = { by_the_first: before.size - before.uniq.size, by_both: (before & after).size,
                   by_the_second: after.size - after.uniq.size }
    failed = swarm.events.count { |event| event["event"] == "kafka_commit_failed" }
    puts "round #{number}: duplicates #{duplicates}, failed commits in the first swarm: #{failed}"
    duplicates.values.sum
  end

  def handled(number) = lines.map { |line| line.split.last }.grep(/\A#{number}-/)
end

PlainStop.play do
  duplicates = Array.new(PlainStop::ROUNDS) { |number| round(number) }
  must("handle no message twice: #{duplicates} duplicates") { duplicates.sum.zero? }
end
