# frozen_string_literal: true

# A second node joins while the first one processes a batch that takes 8 s. The rebalance waits: for
# the current message if the handler uses `each`, otherwise for the whole batch. So under each of
# the three protocols no message is processed twice, and no two nodes process a partition at once.
# If the second node joins too late, as on a busy machine, the scenario produces more messages.
require_relative "scenario"

class Revoked < KafkaScenario
  PROTOCOLS = {
    "range" => {},
    "cooperative" => { "partition.assignment.strategy": "cooperative-sticky" },
    "kip848" => { "group.protocol": "consumer" }
  }.freeze
  HANDLERS = {
    "each" => "batch.each { |message| process(message.partition, [message.offset], 0.4) }",
    "whole" => "process(batch.partition, batch.messages.map(&:offset), 8.0)"
  }.freeze
  Handling = Struct.new(:pid, :partition, :offset, :from, :to)

  def try(protocol, handler)
    name = "#{protocol}-#{handler}"
    topic(name, 2)
    produce(name, 80)
    @file = File.join(directory, "#{name}.done")
    swarm = run_swarm(source(name, protocol, handler))
    swarm.follow("the first node processes messages") { File.exist?("#{@file}.began") }
    swarm.skep("scale", "2")
    await_all(swarm, 80)
    4.times do |more|
      break if pids.size == 2

      produce(name, 40)
      await_all(swarm, 120 + (40 * more))
    end
    must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
    check(name, handlings)
  end

  private

  def produce(name, count) = feed(name, (0...count).map { |n| [n.to_s, "v", n % 2] })

  def await_all(swarm, count)
    swarm.follow("#{count} messages are processed", seconds: 120) do
      handlings.map { |one| [one.partition, one.offset] }.uniq.size == count
    end
  end

  def pids = handlings.map(&:pid).uniq

  def check(name, all)
    duplicates = all.map { |one| [one.partition, one.offset] }.tally.count { |_, times| times > 1 }
    pairs = all.combination(2).count { |pair| overlap?(*pair) }
    puts "#{name}: #{all.size} handled, #{duplicates} twice, #{pairs} overlapping pairs, " \
         "#{pids.size} nodes"
    must("process no message twice, no partition in two nodes at once: #{name}") do
      duplicates.zero? && pairs.zero?
    end
    must("process messages in both nodes: #{name}") { pids.size == 2 }
  end

  def overlap?(one, other)
    one.partition == other.partition && one.pid != other.pid &&
      one.from < other.to && other.from < one.to
  end

  def handlings
    return [] unless File.exist?(@file)

    File.readlines(@file, chomp: true).map do |line|
      pid, partition, offset, *times = line.split
      Handling.new(pid.to_i, partition.to_i, offset.to_i, *times.map(&:to_f))
    end
  end

  def source(name, protocol, handler)
    kafka = { "bootstrap.servers": broker.address, **PROTOCOLS.fetch(protocol) }
    <<~RUBY
      require "skep/kafka"

      def process(partition, offsets, seconds)
        File.write("#{@file}.began", "")
        from = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        IO.select(nil, nil, nil, seconds)
        to = Process.clock_gettime(Process::CLOCK_MONOTONIC)
        lines = offsets.map { |offset| [Process.pid, partition, offset, from, to].join(" ") }
        File.write("#{@file}", lines.map { |line| line + "\\n" }.join, mode: "a")
      end

      Skep.swarm "readers", nodes: 1, stop_timeout: 30 do |swarm|
        source = Skep::Kafka::Source.new(kafka: #{kafka.inspect}, group: "#{name}", topics: "#{name}",
                                         max_messages: 20, threads: 2)
        swarm.work(source) { |batch, node| node.busy(for: 20) { #{HANDLERS.fetch(handler)} } }
      end
    RUBY
  end
end

Revoked.play do
  Revoked::PROTOCOLS.each_key do |protocol|
    Revoked::HANDLERS.each_key { |handler| try(protocol, handler) }
  end
end
