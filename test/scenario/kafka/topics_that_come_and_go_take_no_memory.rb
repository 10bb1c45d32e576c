# frozen_string_literal: true

# A node reads all topics of a pattern. Again and again a topic is made, read, and deleted. The
# memory of the node and of its supervisor hardly grows. (ROUNDS=200 for more. librdkafka keeps some
# 40 KiB of each topic that it has known, until the node ends.)
require_relative "scenario"

ROUNDS = Integer(ENV.fetch("ROUNDS", "8"))
PARTITIONS = 4
SETTLED = ROUNDS / 4 # rounds after which memory is compared
MOST = 16 << 20

KafkaScenario.play do
  topic("orders.0", PARTITIONS)
  feed("orders.0", (0...PARTITIONS).map { |n| [n.to_s, "v", n] })
  kafka = { "topic.metadata.refresh.interval.ms" => "200" }
  swarm = run_swarm(reader("^orders[.].*", nodes: 1, kafka:))
  await_keys(PARTITIONS)
  work = -> { swarm.status("readers")["nodes"].first["work"] }
  pids = [swarm.pid, swarm.status("readers")["nodes"].first["pid"]]
  memory = Array.new(ROUNDS) do |round|
    name = topic("orders.#{round + 1}", PARTITIONS)
    numbers = (PARTITIONS * (round + 1)...PARTITIONS * (round + 2))
    feed(name, numbers.map { |n| [n.to_s, "v", n % PARTITIONS] })
    await_keys(numbers.end)
    seed(name, &:delete_topic)
    swarm.follow("the deleted topic isn't assigned") do
      work.call["partitions"].none? { |one| one["held"] && one["topic"] == name }
    end
    used = pids.map { |pid| Skep::OS::Memory.of(pid).uss }
    puts "round #{round}: MiB: #{used.map { |one| one >> 20 }}" if (round % 20).zero?
    used
  end
  grown = memory.last.zip(memory[SETTLED]).map { |last, before| (last - before) >> 10 }
  puts "#{ROUNDS} rounds: grown by #{grown} KiB since round #{SETTLED + 1}; " \
       "#{work.call["partitions"].size} rows"
  died = swarm.events.select { |event| event["event"] == "node_died" }
  must("replace no node: #{died}") { died.empty? }
  must("grow by less than #{MOST >> 20} MiB: #{grown}") { grown.all? { |kib| kib < MOST >> 10 } }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
