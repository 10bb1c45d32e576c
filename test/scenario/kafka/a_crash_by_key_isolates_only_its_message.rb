# frozen_string_literal: true

require_relative "scenario"

# Ordered by key, a batch has messages from a wide range of offsets. One message of thousands
# segfaults each node that processes it. Only that message is processed alone, and it becomes a dead
# letter. The others of its batch, and those of other keys between them, are processed in batches.
class CrashByKey < KafkaScenario
  def self.embedded? = true

  GOOD = 8_000
  PARTITIONS = 4
  KEYS = 200

  def play_out
    @broker = Skep::Kafka::EmbeddedBroker.start(topics: { "orders" => PARTITIONS, "dead" => 1 })
    at_end { @broker.stop }
    produce
    @swarm = run_swarm(source)
    letter = @swarm.await("dead_lettered", seconds: 120)
    @swarm.follow("every good message is handled", seconds: 120) { handled.uniq.size == GOOD }
    @swarm.follow("no suspect is left") { @swarm.status("poisoned")["suspects"].empty? }
    must("exit with 0; #{@swarm.account}") { @swarm.stop.exitstatus.zero? }
    report(letter)
    check(letter)
  end

  private

  def produce
    producer = Skep::Kafka::Producer.new(@broker.settings)
    (0...GOOD).each do |id|
      producer.produce("orders", id.to_s, key: "bad", partition: 1) if id == GOOD / 2
      producer.produce("orders", id.to_s, key: (id % KEYS).to_s, partition: id % PARTITIONS)
    end
    producer.flush(60)
  ensure
    producer&.close
  end

  def source
    <<~RUBY
      require "fiddle"
      require "skep/kafka"
      kafka = #{@broker.settings.merge("auto.offset.reset": "earliest").inspect}
      source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "orders", threads: 2,
                                       ordered_by: :key, max_messages: 500,
                                       dead_letter_topic: "dead")
      Skep.swarm "poisoned", nodes: 2, liveness_timeout: 60, max_restarts: 1_000 do |swarm|
        swarm.on_boot { @done = File.open("\#{__dir__}/done.\#{Process.pid}", "a") }
        swarm.work(source) do |batch|
          batch.each do |message|
            Fiddle::Pointer.new(8)[0, 1] if message.key == "bad"
            @done.syswrite("\#{message.payload} \#{batch.size}\\n")
          end
        end
      end
    RUBY
  end

  def lines = Dir.glob("#{@swarm.directory}/done.*").flat_map { |path| File.readlines(path) }
  def handled = lines.map { |line| line.split.first }

  def report(letter)
    crashes = @swarm.events.select { |event| event["event"] == "node_died" }
    alone = lines.count { |line| line.end_with?(" 1\n") }
    seconds = crashes.any? ? letter["mono"] - crashes.first["mono"] : 0
    puts "#{crashes.size} crashes, #{alone} good messages processed alone, dead-lettered " \
         "#{seconds.round(1)} s after the first crash"
  end

  # (A rebalance may have given the message to two nodes, each of which dead-letters it.)
  def check(letter)
    letters = @swarm.events.select { |event| event["event"] == "dead_lettered" }
    must("dead-letter the bad message after three crashes: #{letter}") do
      letter["partition"] == 1 && letter["crashes"] >= 3
    end
    must("dead-letter no other: #{letters}") do
      letters.map { |event| event.values_at("partition", "offset") }.uniq.one?
    end
    isolated = @swarm.events.find { |event| event["event"] == "work_isolated" }
    must("name the message in the first crash: #{isolated}") do
      isolated["in_flight"].any? { |name| name.end_with?(" at #{letter["offset"]}") }
    end
  end
end

CrashByKey.play { play_out }
