# frozen_string_literal: true

# A node of a transactional swarm stops, or loses partitions in a rebalance, while EndTxn has no
# response. A proxy holds the request or the response. The node commits no offset outside the
# transaction, so that the group isn't reset to the transaction's beginning. A read_committed
# consumer finds one output for each message.
require_relative "scenario"
require_relative "support/faulty_proxy"

END_TXN = 26
SECONDS = 60
TIMEOUT = 10 # seconds, transaction.timeout.ms

KafkaScenario.play do
  proxy = FaultyProxy.before(broker).tap { |one| at_end { one.close } }
  orders = topic("orders", 2)
  outputs = topic("outputs", 2)
  start = lambda do
    run_swarm(<<~RUBY)
      require "skep/kafka"
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}", max_messages: 10,
                                       transactional: true, retry_backoff: 0.01, threads: 2, rebalance_wait: 3,
                                       producer: { "transaction.timeout.ms": #{TIMEOUT * 1000} })
      Skep.swarm "orders", nodes: 1, max_restarts: 1_000, liveness_timeout: 60 do |swarm|
        swarm.work(source) do |batch, node|
          batch.each { |one| node.producer.produce("#{outputs}", one.payload, key: one.key) }
        end
      end
    RUBY
  end

  produced = 0
  produce = lambda do
    feed(orders, (produced...produced += 20).map { |id| ["key#{id}", id.to_s, id % 2] })
  end
  check = lambda do |swarm, event|
    swarm.follow("all messages are committed after #{event}", seconds: SECONDS) do
      committed("orders", orders, 2) == produced
    end
    found = read_committed(outputs, 2).map(&:to_i).tally
    twice = found.select { |_, count| count > 1 }.keys
    never = (0...produced).to_a - found.keys
    must("write each output once, not #{twice} twice and #{never} never, after #{event}") do
      twice.empty? && never.empty?
    end
  end
  hold_end = lambda do |fault|
    proxy.inject(END_TXN, fault)
    produce.call
    must("send END_TXN into #{fault}") { proxy.await(SECONDS) }
  end

  swarm = start.call
  produce.call
  check.call(swarm, "the start")
  %i[answer_held request_held].each do |fault|
    hold_end.call(fault)
    revoked = -> { swarm.events.count { |event| event["change"] == "revoked" } }
    before = revoked.call
    swarm.skep("scale", "2")
    swarm.follow("a partition is revoked", seconds: SECONDS) { revoked.call > before }
    proxy.release
    check.call(swarm, "a revocation with #{fault}")
    swarm.skep("scale", "1")
    swarm.follow("one node has both partitions") { held(swarm).map(&:size) == [2] }

    hold_end.call(fault)
    swarm.stop
    proxy.release
    swarm = start.call
    check.call(swarm, "a stop with #{fault}")
  end
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
