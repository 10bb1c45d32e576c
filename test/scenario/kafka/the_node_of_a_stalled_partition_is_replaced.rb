# frozen_string_literal: true

# A partition that has messages but delivers none is reported, and its node replaced, so that the
# messages are handled within stall_timeout + 5 s. A proxy drops the response to a fetch request, or
# code in the node pauses the partition without skep. On an embedded cluster the partition's leader
# moves to another broker and back at once, after which librdkafka may stop fetching. Messages of
# the other partition are handled meanwhile or by the new node. No message is lost. (STALLS=n for
# more.)
require_relative "scenario"
require_relative "support/faulty_proxy"

class Stalls < KafkaScenario
  STALLS = Integer(ENV.fetch("STALLS", "6"))
  TIMEOUT = 2 # seconds, stall_timeout
  FETCH = 1 # api key

  # An embedded cluster with the interface that `feed` uses.
  EmbeddedCluster = Struct.new(:address)

  def play_out
    @produced = 0
    @latencies = []
    @kinds = Hash.new(0)
    pause_or_drop(STALLS - (STALLS / 3))
    move_leader(STALLS / 3)
    must("lose no message") { keys.uniq.size == @produced }
    range = @latencies.minmax.map { |seconds| seconds.round(1) }.join(" to ")
    puts "#{STALLS} times, #{@kinds.map { |pair| pair.join(": ") }.join(", ")}; " \
         "from a message to its handling #{range} s"
  end

  private

  def pause_or_drop(times)
    proxy = FaultyProxy.before(broker, client: "reader").tap { |one| at_end { one.close } }
    begin_reading(topic("orders", 2), "bootstrap.servers": broker.address, "client.id": "reader")
    times.times do |number|
      if number.even?
        produce("pause", 0)
        await_replacement("paused")
      else
        proxy.inject(FETCH, :answer_dropped)
        must("send a fetch request") { proxy.await(20) }
        await_replacement("dropped")
      end
    end
    must("report each stall, not #{stalls}") { stalls >= times }
    stop
  end

  # The partition may stall or continue after its leader has moved.
  def move_leader(times)
    cluster = Skep::Kafka::EmbeddedBroker.start(topics: { "moved" => 2 }, nodes: 2)
    at_end { cluster.stop }
    @broker = EmbeddedCluster.new(cluster.bootstrap_servers)
    begin_reading("moved", cluster.settings.merge("group.instance.id" => nil))
    times.times do
      before = stalls
      [2, 1].each { |leader| cluster.lead("moved", 0, leader) }
      handle_in_time
      @kinds[stalls > before ? "moved, stalled" : "moved, continued"] += 1
    end
    stop
  end

  def begin_reading(topic, kafka)
    @topic = topic
    @swarm = run_swarm(source(kafka))
    @swarm.await("kafka_rebalance") { |event| event["partitions"].any? }
    produce("k", 0, 1)
  end

  def stop
    must("exit with 0; #{@swarm.account}") { @swarm.stop.exitstatus == 0 }
  end

  # Produces a message in each of these partitions, and waits until all are handled.
  def produce(key, *partitions)
    feed(@topic, partitions.map { |partition| [key, (@produced += 1).to_s, partition] })
    await_keys(@produced, seconds: TIMEOUT + 30)
  end

  # Produces a message in the stalled partition. Waits until it is handled by a new node.
  def await_replacement(kind)
    handle_in_time
    stalled = @swarm.await("kafka_stalled") { |event| event["partition"].zero? }
    @swarm.await("node_ready") { |event| event["pid"] != stalled["pid"] }
    @kinds[kind] += 1
  end

  def handle_in_time
    began = Skep::OS.now
    produce("k", 0, 1)
    @latencies << (seconds = Skep::OS.now - began)
    bound = Patience.of(TIMEOUT + 5)
    must("handle it within #{bound} s, not #{seconds.round(1)} s") { seconds < bound }
  end

  def stalls = @swarm.events.count { |event| event["event"] == "kafka_stalled" }

  def source(kafka)
    <<~RUBY
      require "skep/kafka"
      source = Skep::Kafka::Source.new(kafka: #{kafka.inspect}, group: "readers", topics: "#{@topic}",
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

      Skep.swarm "readers", nodes: 1, liveness_timeout: 60 do |swarm|
        swarm.work(source) do |batch, _|
          batch.each do |message|
            pause(message.topic, message.partition) if message.key == "pause"
            File.write("#{file}", "\#{message.payload}\\n", mode: "a")
          end
        end
      end
    RUBY
  end
end

Stalls.play { play_out }
