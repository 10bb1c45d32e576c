# frozen_string_literal: true

require_relative "scenario"

# One source reads 40 topics, each with its own handler, in 4 nodes with 3 threads. 38 topics get a
# message each 0.2 s. At first the other two topics are empty. Then one of them, with 12 partitions,
# has a backlog and a handler of 200 ms, and the other one's handler always fails. All messages of
# the 38 topics are handled while the slow topic still has work, each by its topic's handler.
# (ROUNDS=n for more.)
ROUNDS = Integer(ENV.fetch("ROUNDS", "50"))
OTHERS = 38
SLOW = 2_400 # messages: 480 s of handlers, of which 8 run at a time

class Topics < KafkaScenario
  def try
    others = (0...OTHERS).map { |number| topic("other.#{number}", 4) }
    topic("slow", 12)
    topic("failing", 4)
    topic("dead", 1)
    swarm = run_swarm(source)
    await_assignment((OTHERS * 4) + 16, swarm, nodes: 4)
    @producer = Skep::Kafka::Producer.new({ "bootstrap.servers": broker.address, "linger.ms": 0 })
    at_end { @producer.close }
    warm = latencies(swarm, others, rounds: 20)
    alone = latencies(swarm, others, after: warm.size)
    feed("failing", (0...200).map { |n| [n.to_s, "v", n % 4] })
    feed("slow", (0...SLOW).map { |n| [n.to_s, "v", n % 12] })
    beside = latencies(swarm, others, after: warm.size + alone.size)
    left = SLOW - lines("slow").size
    check(swarm, alone, beside, left)
  end

  private

  # Returns how long each message of the other topics waited, in seconds.
  def latencies(swarm, topics, after: 0, rounds: ROUNDS)
    rounds.times do
      topics.each { |topic| @producer.produce(topic, Skep::OS.now.to_s) }
      swarm.follow_for(0.2)
    end
    all = after + (rounds * topics.size)
    swarm.follow("#{all} messages are handled") { lines("others").size >= all }
    lines("others").drop(after).map { |line| line.split.last.to_f }
  end

  def check(swarm, alone, beside, left)
    dead = swarm.events.count { |event| event["event"] == "dead_lettered" }
    puts "38 topics alone: #{text(alone)}; beside a slow and a failing one: #{text(beside)}; " \
         "#{left} messages of the slow topic left, #{dead} dead letters"
    must("call the topic's handler with each batch") { lines("wrong").empty? }
    must("handle the other topics while the slow topic has work") { left.positive? }
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  end

  def text(seconds)
    sorted = seconds.sort
    median, most = sorted[sorted.size / 2], sorted[(sorted.size * 0.99).floor]
    format("%.1f ms, 99%% below %.1f ms", median * 1000, most * 1000)
  end

  def lines(name)
    path = File.join(directory, name)
    File.exist?(path) ? File.readlines(path) : []
  end

  def source
    <<~RUBY
      require "skep/kafka"
      note = lambda { |name, text| File.write("#{directory}/\#{name}", "\#{text}\\n", mode: "a") }
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "readers", threads: 3, retry_for: nil) do |one|
        one.topic("^other\\\\.") do |batch, _|
          note.call("wrong", batch.topic) unless batch.topic.start_with?("other.")
          waited = batch.map { |message| Skep::OS.now - message.payload.to_f }
          note.call("others", waited.join("\\n"))
        end
        one.topic("slow", max_messages: 5) do |batch, node|
          batch.each do |message|
            node.wait(0.2)
            note.call("slow", message.key)
          end
        end
        one.topic("failing", dead_letter_topic: "dead", max_attempts: 2) { raise "always" }
      end
      Skep.swarm("readers", nodes: 4) { |swarm| swarm.work(source) }
    RUBY
  end
end

Topics.play { try }
