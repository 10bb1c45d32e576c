# frozen_string_literal: true

require_relative "scenario"

# The broker can't create the topic of its transactions, as there are fewer brokers than that topic
# needs replicas. A transactional swarm waits, much longer than liveness_timeout, and says what is
# missing; no node is considered hung. Once the broker's configuration is corrected, it begins.
LIVENESS = 3.0 # seconds
FACTOR = "transaction.state.log.replication.factor"

KafkaScenario.play do
  broker.reconfigure { |text| text.sub(/^#{Regexp.escape(FACTOR)}=1$/, "#{FACTOR}=3") }
  orders, outputs = topic("orders", 4), topic("outputs", 1)
  feed(orders, (0...100).map { |id| ["key#{id}", id.to_s] })
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                     group: "orders", topics: "#{orders}", threads: 2,
                                     transactional: true)
    Skep.swarm "orders", nodes: 2, liveness_timeout: #{LIVENESS} do |swarm|
      swarm.work(source) do |batch, node|
        batch.each { |one| node.producer.produce("#{outputs}", one.payload) }
      end
    end
  RUBY
  waiting = swarm.await("kafka_transaction_waiting", times: 2)
  must("say what is missing, not #{waiting}") do
    waiting.all? { |event| event["hint"].include?(FACTOR) }
  end
  swarm.follow_for(LIVENESS * 4)
  gone = swarm.events.select { |event| ["node_hung", *GONE].include?(event["event"]) }
  must("consider no node hung, not #{gone}") { gone.empty? }

  broker.reconfigure { |text| text.sub("#{FACTOR}=3", "#{FACTOR}=1") }
  swarm.follow("all messages are committed") { committed("orders", orders, 4) == 100 }
  gone = swarm.events.select { |event| ["node_hung", *GONE].include?(event["event"]) }
  must("keep every node alive, not #{gone}") { gone.empty? }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  found = read_committed(outputs, 1).map(&:to_i)
  must("write each output once") { found.sort == (0...100).to_a }
end
