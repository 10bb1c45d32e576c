# frozen_string_literal: true

# Ordered by key, one message of each partition fails until all others are done. Then both nodes get
# SIGKILL, and the whole swarm is stopped and started again. What was done beyond the failed message
# isn't handled again, though the group's committed offset is still that message's.
require_relative "scenario"

MESSAGES = 8_000
PARTITIONS = 4

KafkaScenario.play do
  orders = topic("orders", PARTITIONS)
  feed(orders, (0...MESSAGES).map { |n| ["k#{n % 400}", n.to_s, n % PARTITIONS] })
  place, healthy = File.join(directory, "done"), File.join(directory, "healthy")
  start = lambda do
    run_swarm(<<~RUBY)
      require "skep/kafka"
      kafka = { "bootstrap.servers": "#{broker.address}" }
      source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: ["#{orders}"], threads: 2,
                                       max_messages: 100, commit_interval: 0.2, ordered_by: :key)
      Skep.swarm "keyed", nodes: 2, max_restarts: 100 do |swarm|
        swarm.on_boot { @done = File.open("#{place}.\#{Process.pid}", "a") }
        swarm.work(source) do |batch, node|
          batch.each do |message|
            raise "not yet" if message.offset.zero? && !File.exist?("#{healthy}")
            @done.syswrite("\#{message.payload}\\n")
          end
        end
      end
    RUBY
  end
  done = lambda do
    Dir.glob("#{place}.*").flat_map { |path| File.readlines(path, chomp: true).map(&:to_i) }
  end
  consumer = Skep::Kafka.const_get(:Consumer).new("bootstrap.servers" => broker.address,
                                                  "group.id" => "orders")
  at_end { consumer.close }
  keys = Array.new(PARTITIONS) { |number| [orders, number] }
  commits = -> { consumer.committed_with_metadata(keys, 2.0).to_h.values_at(*keys) }
  beyond = lambda do
    commits.call.sum do |offset, _, text|
      found = Skep::Kafka.const_get(:Processing)::CommitMetadata.read(text, offset)
      found ? found.done_from(offset).count("1") : 0
    end
  end

  swarm = start.call
  # The keys of the four failing messages wait, too.
  waiting = PARTITIONS * (MESSAGES / 400)
  swarm.follow("the others are done") { done.call.uniq.size == MESSAGES - waiting }
  swarm.follow("that is committed") { beyond.call == MESSAGES - waiting }
  killed = swarm.status("keyed")["nodes"].map { |node| node["pid"] }
  killed.each { |pid| swarm.kill(pid) }
  2.times do |number|
    swarm.await("node_assigned") do |event|
      event["node"] == number && !killed.include?(event["pid"])
    end
  end
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  must("have the failing messages' partitions at their first offset") do
    commits.call.map(&:first) == [0] * PARTITIONS
  end

  swarm = start.call
  swarm.await("handler_failed")
  File.write(healthy, "")
  swarm.follow("all is done") { done.call.uniq.size == MESSAGES }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
  must("commit the end") { commits.call.sum(&:first) == MESSAGES }
  puts "#{done.call.size - MESSAGES} of #{MESSAGES} messages were handled twice"
  must("handle nothing twice") { done.call.size == MESSAGES }
end
