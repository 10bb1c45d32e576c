# frozen_string_literal: true

# A transactional swarm whose node stops, or has to give up partitions, while nobody has answered
# yet for the end of a transaction: before the broker has heard of it and after. It commits nothing
# beside the transaction, so that the group isn't taken back to where that began: a reader that sees
# only what was committed finds one output for each message.
require_relative "scenario"
require_relative "support/tamper"

END_TXN = 26
SECONDS = 60
TIMEOUT = 10 # seconds, transaction.timeout.ms

KafkaScenario.play do
  tamper = Tamper.before(broker).tap { |one| at_end { one.close } }
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

  fed = 0
  more = lambda do
    feed(orders, (fed...fed += 20).map { |id| ["key#{id}", id.to_s, id % 2] })
  end
  settled = lambda do |swarm, what|
    swarm.follow("all is done after #{what}", seconds: SECONDS) do
      committed("orders", orders, 2) == fed
    end
    found = transacted(outputs, 2).map(&:to_i).tally
    twice = found.select { |_, count| count > 1 }.keys
    never = (0...fed).to_a - found.keys
    must("write each output once, not #{twice} twice and #{never} never, after #{what}") do
      twice.empty? && never.empty?
    end
  end
  doubt = lambda do |deed|
    tamper.next(END_TXN, deed)
    more.call
    must("come to an end #{deed}") { tamper.await(SECONDS) }
  end

  swarm = start.call
  more.call
  settled.call(swarm, "the beginning")
  %i[held kept].each do |deed|
    doubt.call(deed)
    revoked = -> { swarm.events.count { |event| event["change"] == "revoked" } }
    before = revoked.call
    swarm.skep("scale", "2")
    swarm.follow("a partition is given up", seconds: SECONDS) { revoked.call > before }
    tamper.release
    settled.call(swarm, "a partition given up while an end is #{deed}")
    swarm.skep("scale", "1")
    swarm.follow("one has both again") { held(swarm).map(&:size) == [2] }

    doubt.call(deed)
    swarm.stop
    tamper.release
    swarm = start.call
    settled.call(swarm, "a stop while an end is #{deed}")
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
