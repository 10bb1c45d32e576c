# frozen_string_literal: true

require_relative "scenario"

# The broker of a transactional swarm is killed while transactions are under way, and returns after
# some seconds. librdkafka may look for a lost group coordinator again only much later, and its call
# ignores its own limit meanwhile. Each time all messages are committed well before a node would be
# considered hung, no node ends, and each message has its output once. (ROUNDS=n for more.)
PARTITIONS = 8
AWAY = 5.0 # seconds
WELL = 20.0 # seconds; with the usual patience 60. A call that hangs ends with its node after 90
ROUNDS = Integer(ENV.fetch("ROUNDS", "3"))

KafkaScenario.play do
  orders, outputs = topic("orders", PARTITIONS), topic("outputs", 4)
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                     group: "orders", topics: "#{orders}", threads: 4,
                                     max_messages: 20, transactional: true)
    Skep.swarm "orders", nodes: 2 do |swarm|
      swarm.work(source) do |batch, node|
        batch.each { |one| node.producer.produce("#{outputs}", one.payload, key: one.key) }
      end
    end
  RUBY
  produced = 0
  feed_more = lambda do |count|
    feed(orders, (produced...produced += count).map { |id| ["key#{id}", id.to_s] })
  end
  feed_more.call(200)
  swarm.follow("the first messages are committed") do
    committed("orders", orders, PARTITIONS) == produced
  end

  waits = Array.new(ROUNDS) do
    feed_more.call(6_000)
    swarm.follow_for(0.3 + Random.rand(0.3)) # transactions are under way
    broker.kill
    swarm.follow_for(AWAY)
    broker.start
    since = Skep::OS.now
    swarm.follow("all messages are committed", seconds: 100) do
      committed("orders", orders, PARTITIONS) == produced
    end
    Skep::OS.now - since
  end
  puts "all committed #{waits.map { |seconds| seconds.round(1) }.join(", ")} s after the return"

  must("commit all within #{Patience.of(WELL)} s, not #{waits}") { waits.max < Patience.of(WELL) }
  gone = swarm.events.select { |event| ["node_hung", *GONE].include?(event["event"]) }
  must("keep every node alive, not #{gone}") { gone.empty? }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  found = read_committed(outputs, 4).map(&:to_i)
  must("write each output once") { found.sort == (0...produced).to_a }
end
