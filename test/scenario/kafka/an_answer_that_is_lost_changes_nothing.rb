# frozen_string_literal: true

# A transactional swarm whose connection to the broker fails, or is slow, just when an answer is
# due: to each kind of request of a transaction in turn. Its handler raises while an output may be
# there or not: what takes its place isn't taken for it. At the end of a transaction, before the
# broker has heard of it and after, its node is killed too, or another process takes its
# transactional.id, or the broker's clock ends it. A reader that sees only what was committed finds
# one output for each message, and the group's offsets are at the ends. (ROUNDS=n for more.)
require_relative "scenario"
require_relative "support/tamper"
require "rdkafka" if KafkaScenario::Broker::PROGRAM

ROUNDS = Integer(ENV.fetch("ROUNDS", "1"))
TIMEOUT = 5 # seconds, transaction.timeout.ms
SECONDS = 60
ID = "orders-#{Socket.gethostname}-0-0" # of a node that hasn't lost it yet
STEPS = { PRODUCE: 0, ADD_PARTITIONS_TO_TXN: 24, ADD_OFFSETS_TO_TXN: 25, TXN_OFFSET_COMMIT: 28,
          END_TXN: 26 }.freeze
BEGINNINGS = { FIND_COORDINATOR: 10, INIT_PRODUCER_ID: 22 }.freeze # of a node

KafkaScenario.play do
  tamper = Tamper.before(broker).tap { |one| at_end { one.close } }
  orders = topic("orders", 2)
  outputs = topic("outputs", 2)
  raising = File.join(directory, "raising")
  swarm = run_swarm(<<~RUBY)
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

        IO.select(nil, nil, nil, 0.2) # until they are there, and before they are sent again
        Dir.rmdir("#{raising}")
        raise IOError, "the disk is away"
      end
    end
  RUBY

  fed = 0
  more = lambda do
    feed(orders, (fed...fed += 20).map { |id| ["key#{id}", id.to_s] })
  end
  settled = lambda do |what|
    swarm.follow("all is done after #{what}", seconds: SECONDS) do
      committed("orders", orders, 2) == fed
    end
    found = transacted(outputs, 2).map(&:to_i).tally
    twice = found.select { |_, count| count > 1 }.keys
    must("write each output once, not #{twice} twice and #{(0...fed).to_a - found.keys} never, " \
         "after #{what}") { found.size == fed && twice.empty? }
  end
  harm = lambda do |request, number, deed, trigger: nil|
    tamper.next(number, deed)
    more.call
    trigger&.call
    must("come to #{request} #{deed}") { tamper.await(SECONDS) }
  end
  # The block is given the time between a request and the verdict on it: cut where the broker has
  # done it, else heard after all.
  doubt = lambda do |deed, what, &block|
    harm.call(:END_TXN, STEPS[:END_TXN], deed)
    block.call
    deed == :held ? tamper.cut : tamper.release
    settled.call("an end #{deed} #{what}")
  end
  take_id = lambda do
    settings = { "bootstrap.servers" => broker.address, "transactional.id" => ID }
    other = Rdkafka::Config.new(settings).producer
    other.init_transactions
    other.close
  end
  kill = lambda do
    pid = nil # while the node is replaced
    swarm.follow("there is a node") { pid = swarm.status("orders")["nodes"].first["pid"] }
    swarm.kill(pid)
  end

  more.call
  swarm.await("kafka_rebalance") { |event| event["partitions"].any? } # the group is there
  ROUNDS.times do
    STEPS.to_a.product(%i[cut unheard late]) { |step, deed| harm.call(*step, deed) }
    settled.call("what passes")
    %i[cut unheard late].each do |deed|
      Dir.mkdir(raising)
      harm.call(:PRODUCE, STEPS[:PRODUCE], deed)
      settled.call("a handler that raised with its outputs #{deed}")
    end
    BEGINNINGS.to_a.product(%i[cut late]) { |step, deed| harm.call(*step, deed, trigger: kill) }
    settled.call("deaths")

    %i[held kept].each do |deed|
      doubt.call(deed, "while another process takes its id", &take_id)
      doubt.call(deed, "while its node is killed", &kill)
      doubt.call(deed, "past transaction.timeout.ms") { swarm.follow_for(TIMEOUT + 1.0) }
    end
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  again = swarm.events.select { |event| event["event"] == "handler_failed" }
  must("try again what wasn't committed, not only #{again}") { again.size >= 2 * ROUNDS }
  puts "#{fed} messages, #{tamper.harmed} answers harmed, #{again.size} batches tried again: " \
       "#{fed} outputs, none twice"
end
