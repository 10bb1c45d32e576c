# frozen_string_literal: true

# A proxy cuts or delays the connection of a transactional swarm, at each kind of request of a
# transaction in turn. The handler raises while it is unknown whether an output was written, and the
# batch is processed again. While EndTxn is held, before or after the broker, the node is killed, or
# another process uses its transactional.id, or the transaction times out. A read_committed consumer
# finds one output for each message, and all messages are committed. (ROUNDS=n for more.)
require_relative "scenario"
require_relative "support/faulty_proxy"
require "rdkafka" if KafkaScenario::Broker::PROGRAM

ROUNDS = Integer(ENV.fetch("ROUNDS", "1"))
TIMEOUT = 5 # seconds, transaction.timeout.ms
SECONDS = 60
ID = "orders-#{Socket.gethostname}-0-0" # the node's transactional.id
STEPS = { PRODUCE: 0, ADD_PARTITIONS_TO_TXN: 24, ADD_OFFSETS_TO_TXN: 25, TXN_OFFSET_COMMIT: 28,
          END_TXN: 26 }.freeze
FAULTS = %i[answer_cut request_cut answer_late].freeze
BEGINNINGS = { FIND_COORDINATOR: 10, INIT_PRODUCER_ID: 22 }.freeze # requests of a starting node

KafkaScenario.play do
  proxy = FaultyProxy.before(broker).tap { |one| at_end { one.close } }
  orders = topic("orders", 2)
  outputs = topic("outputs", 2)
  raising = File.join(directory, "raising")
  swarm = run_swarm(<<~RUBY, arguments: %w[--log-level debug])
    require "skep/kafka"
    kafka = { "bootstrap.servers": "#{broker.address}" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}", max_messages: 10,
                                     transactional: true, retry_backoff: 0.01,
                                     producer: { "transaction.timeout.ms": #{TIMEOUT * 1000},
                                                 "retry.backoff.ms": 500 })
    Skep.swarm "orders", nodes: 1, max_restarts: 1_000, liveness_timeout: 60 do |swarm|
      swarm.work(source) do |batch, node|
        batch.each { |one| node.producer.produce("#{outputs}", one.payload, key: one.key) }
        next unless Dir.exist?("#{raising}")

        IO.select(nil, nil, nil, 0.2) # outputs have arrived, and no retry was sent
        Dir.rmdir("#{raising}")
        raise IOError, "no disk"
      end
    end
  RUBY

  produced = 0
  produce = lambda do
    feed(orders, (produced...produced += 20).map { |id| ["key#{id}", id.to_s] })
  end
  check = lambda do |event|
    swarm.follow("all messages are committed after #{event}", seconds: SECONDS) do
      committed("orders", orders, 2) == produced
    end
    found = read_committed(outputs, 2).map(&:to_i).tally
    twice = found.select { |_, count| count > 1 }.keys
    never = (0...produced).to_a - found.keys
    must("write each output once, not #{twice} twice and #{never} never, after #{event}") do
      found.size == produced && twice.empty?
    end
  end
  inject = lambda do |request, number, fault, trigger: nil|
    proxy.inject(number, fault)
    produce.call
    trigger&.call
    must("send #{request} into #{fault}") { proxy.await(SECONDS) }
  end
  # Runs the block while EndTxn is held. Afterwards a held response is cut, a held request passed
  # on.
  hold_end = lambda do |fault, event, &block|
    inject.call(:END_TXN, STEPS[:END_TXN], fault)
    block.call
    fault == :answer_held ? proxy.cut : proxy.release
    check.call("EndTxn with #{fault}, and #{event}")
  end
  take_id = lambda do
    settings = { "bootstrap.servers" => broker.address, "transactional.id" => ID }
    other = Rdkafka::Config.new(settings).producer
    other.init_transactions
    other.close
  end
  kill = lambda do
    pid = nil # while the node is replaced
    swarm.follow("a node has a pid") { pid = swarm.status("orders")["nodes"].first["pid"] }
    swarm.kill(pid)
  end

  produce.call
  swarm.await("kafka_rebalance") { |event| event["partitions"].any? } # the group has a coordinator
  ROUNDS.times do
    STEPS.to_a.product(FAULTS) { |step, fault| inject.call(*step, fault) }
    check.call("faults at each request of a transaction")
    FAULTS.each do |fault|
      Dir.mkdir(raising)
      inject.call(:PRODUCE, STEPS[:PRODUCE], fault)
      check.call("a handler that raises, and #{fault}")
    end
    BEGINNINGS.to_a.product(%i[answer_cut answer_late]) do |step, fault|
      inject.call(*step, fault, trigger: kill)
    end
    check.call("kills")

    %i[answer_held request_held].each do |fault|
      hold_end.call(fault, "another process uses the transactional.id", &take_id)
      hold_end.call(fault, "the node is killed", &kill)
      hold_end.call(fault, "the transaction times out") { swarm.follow_for(TIMEOUT + 1.0) }
    end
  end
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  failed = swarm.events.select { |event| event["event"] == "handler_failed" }
  must("retry uncommitted batches, not only #{failed}") { failed.size >= 2 * ROUNDS }
  puts "#{produced} messages, #{proxy.fault_count} faults, #{failed.size} batches tried again: " \
       "#{produced} outputs, none twice"
end
