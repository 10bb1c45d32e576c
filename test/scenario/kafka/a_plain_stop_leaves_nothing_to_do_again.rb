# frozen_string_literal: true

require_relative "scenario"

# Four nodes are stopped under load and started again: no message is handled twice. On the embedded
# broker, or on a real one with SKEP_KAFKA_BROKER. ROUNDS: how often. While a group changes, the
# embedded broker refuses commits, so there a group waits for all its nodes before it begins. And a
# node that asks for its assignment after the leader has to join again: as an answer takes 50 ms,
# the leader, which asks for the metadata before, is the last.
class PlainStop < KafkaScenario
  ROUNDS = Integer(ENV.fetch("ROUNDS", "3"))
  PARTITIONS = 8
  MESSAGES = 4_000

  # An embedded broker, with what KafkaScenario asks of a real one.
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

  # Stops the nodes as each has a batch in progress; returns how many messages came twice.
  def round(number)
    topic = topic("orders#{number}", PARTITIONS)
    first = start(topic, number)
    share(PARTITIONS, first, among: 4)
    messages = (0...MESSAGES).map { |n| ["#{number}-#{n}", "v", n % PARTITIONS] }
    load = Thread.new { feed(topic, messages) }
    first.follow("some messages are handled") { handled(number).size > MESSAGES / 8 }
    must("stop with 0") { first.stop.exitstatus.zero? }
    load.join
    before = handled(number)
    second = start(topic, number)
    second.follow("all messages are handled", seconds: 60) { handled(number).uniq.size == MESSAGES }
    must("stop with 0") { second.stop.exitstatus.zero? }
    judge(number, before, first)
  end

  def start(topic, number)
    kafka = PlainStop.embedded? ? broker.settings : { "group.instance.id" => nil }
    run_swarm(reader(topic, nodes: 4, group: "readers#{number}", kafka:, more: ", max_messages: 20",
                            body: "IO.select(nil, nil, nil, 0.01 + rand(0.1))"))
  end

  def judge(number, before, swarm)
    after = handled(number).drop(before.size)
    twice = { by_the_first: before.size - before.uniq.size, by_both: (before & after).size,
              by_the_second: after.size - after.uniq.size }
    failed = swarm.events.count { |event| event["event"] == "kafka_commit_failed" }
    puts "round #{number}: twice #{twice}, commits that failed in the first: #{failed}"
    twice.values.sum
  end

  def handled(number) = lines.map { |line| line.split.last }.grep(/\A#{number}-/)
end

PlainStop.play do
  twice = Array.new(PlainStop::ROUNDS) { |number| round(number) }
  must("handle no message twice: #{twice} came twice") { twice.sum.zero? }
end
