# frozen_string_literal: true

# Two nodes with several threads process two partitions, ordered by key, and get SIGKILL repeatedly.
# Each message is handled. The first handlings of each key's messages are in order. One key is slow,
# and some messages have no key. (MESSAGES=n, KILLS=n for more.)
require_relative "scenario"

MESSAGES = Integer(ENV.fetch("MESSAGES", "16000"))
KILLS = Integer(ENV.fetch("KILLS", "3"))
KEYS = 50

KafkaScenario.play do
  orders = topic("orders", 2)
  feed(orders, (0...MESSAGES).map do |n|
    key = "k#{n % KEYS}" unless (n % 10).zero?
    [key, n.to_s, (n % KEYS) % 2]
  end)
  place = File.join(directory, "done")
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    kafka = { "bootstrap.servers": "#{broker.address}" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: ["#{orders}"], threads: 4,
                                     max_messages: 100, commit_interval: 0.2, ordered_by: :key,
                                     max_out_of_order: 2_000)
    Skep.swarm "keyed", nodes: 2, max_restarts: 100 do |swarm|
      swarm.on_boot { @done = File.open("#{place}.\#{Process.pid}", "a") }
      swarm.work(source) do |batch, node|
        batch.each do |message|
          IO.select(nil, nil, nil, message.key == "k7" ? 0.02 : 0.001)
          now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          @done.syswrite("\#{now} \#{message.key || "-"} \#{message.payload}\\n")
        end
      end
    end
  RUBY
  done = lambda do
    Dir.glob("#{place}.*").flat_map { |path| File.readlines(path, chomp: true) }
       .map { |line| line.split.then { |at, key, n| [at.to_i, key, n.to_i] } }
  end
  swarm.await("node_assigned", times: 2)
  random = Random.new(1)
  KILLS.times do
    swarm.follow_for(0.3)
    victim = swarm.status("keyed")["nodes"].select { |one| one["state"] == "ready" }.sample(random:)
    next unless victim

    swarm.kill(victim["pid"])
    swarm.await("node_ready") do |event|
      event["node"] == victim["id"] && event["pid"] != victim["pid"]
    end
  end
  must("have messages left at the last kill") { done.call.map(&:last).uniq.size < MESSAGES }
  swarm.follow("every message is handled", seconds: 90) do
    done.call.map(&:last).uniq.size == MESSAGES
  end
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

  all = done.call.sort
  first = all.uniq(&:last)
  puts "#{MESSAGES} messages, #{all.size - first.size} handled twice in #{KILLS} kills"
  must("lose no message") { first.map(&:last).sort == (0...MESSAGES).to_a }
  first.reject { |_, key, _| key == "-" }.group_by { |_, key, _| key }.each do |key, some|
    numbers = some.map(&:last)
    must("keep the order of the key #{key}") { numbers == numbers.sort }
  end
end
