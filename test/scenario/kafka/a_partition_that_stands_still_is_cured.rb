# frozen_string_literal: true

# A partition that has messages and from which nothing comes is reported and cured, within
# stall_timeout and 5 s: a proxy swallows an answer to a fetch request, or something in the node
# pauses the partition behind skep's back. Messages of the other partition are handled meanwhile or
# after the cure, and none is lost. (STALLS=n for more.)
require_relative "scenario"
require_relative "support/tamper"

STALLS = Integer(ENV.fetch("STALLS", "6"))
TIMEOUT = 2 # seconds, stall_timeout
FETCH = 1 # Kafka's number of the request

KafkaScenario.play do
  tamper = Tamper.before(broker, client: "reader").tap { |one| at_end { one.close } }
  orders = topic("orders", 2)
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    kafka = { "bootstrap.servers": "#{broker.address}", "client.id": "reader" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}",
                                     stall_timeout: #{TIMEOUT}, commit_interval: 0.1)

    def pause(topic, partition)
      bindings = Skep::Kafka::Librdkafka::Bindings
      unless bindings.respond_to?(:pause_partitions)
        bindings.attach_function(:pause_partitions, :rd_kafka_pause_partitions,
                                 %i[pointer pointer], :int)
      end
      consumer = ObjectSpace.each_object(Skep::Kafka::Consumer).find { |one| !one.closed? }
      Skep::Kafka::Librdkafka::TopicPartitionList.make([[topic, partition]]) do |list|
        bindings.pause_partitions(consumer.handle, list.pointer)
      end
    end

    Skep.swarm "orders", nodes: 1, liveness_timeout: 60 do |swarm|
      swarm.work(source) do |batch, _|
        batch.each do |message|
          pause(message.topic, message.partition) if message.key == "pause"
          File.write("#{file}", "\#{message.payload}\\n", mode: "a")
        end
      end
    end
  RUBY
  swarm.await("kafka_rebalance") { |event| event["partitions"].any? }

  fed = 0
  more = lambda do |key, *partitions|
    items = partitions.map { |partition| [key, (fed += 1).to_s, partition] }
    feed(orders, items)
  end
  handled = ->(count) { await_keys(count, seconds: TIMEOUT + 30) }
  latencies = []
  cures = Hash.new(0)
  # Produces a message in the stalled partition, and waits until it is handled and reported.
  cured = lambda do |kind|
    began = Skep::OS.now
    more.call("k", 0, 1)
    handled.call(fed)
    latencies << (Skep::OS.now - began)
    ended = swarm.await("kafka_stall_ended") { |event| event["partition"].zero? }
    cures["#{kind} #{ended["cure"]}"] += 1
  end

  more.call("k", 0, 1)
  handled.call(fed)
  STALLS.times do |number|
    if number.even?
      more.call("pause", 0)
      handled.call(fed)
      cured.call("paused")
    else
      tamper.next(FETCH, :swallowed)
      must("swallow an answer") { tamper.await(20) }
      cured.call("swallowed")
    end
  end

  stalled = swarm.events.select { |event| event["event"] == "kafka_stalled" }
  must("report each stall, not #{stalled.size}") { stalled.size >= STALLS }
  bound = Patience.of(TIMEOUT + 5)
  must("cure each within #{bound} s, not #{latencies.max.round(1)} s") { latencies.max < bound }
  must("lose no message") { keys.uniq.size == fed }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  range = latencies.minmax.map { |seconds| seconds.round(1) }.join(" to ")
  puts "#{STALLS} stalls, #{cures.map { |pair| pair.join(": ") }.join(", ")}; " \
       "from a message to its handling #{range} s"
end
