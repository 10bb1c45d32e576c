# frozen_string_literal: true

require_relative "scenario"

# Nodes are killed again and again at any moment, with batches and single messages in hand: every
# message is handled, none is taken for the cause.
KILLS = Integer(ENV.fetch("KILLS", "20"))

KafkaScenario.play do
  orders, dead = topic("orders", 4), topic("dead", 1)
  count = KILLS * 1_000
  feed(orders, (0...count).map { |n| [n.to_s, "v"] })
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    kafka = { "bootstrap.servers": "#{broker.address}" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}", threads: 2,
                                     max_messages: 100, commit_interval: 1, dead_letter_topic: "#{dead}")
    Skep.swarm "readers", nodes: 2, max_restarts: 1_000 do |swarm|
      swarm.on_boot { @done = File.open("\#{__dir__}/done.\#{Process.pid}", "a") }
      swarm.work(source) do |batch, node|
        batch.each do |message|
          IO.select(nil, nil, nil, 0.001)
          @done.syswrite("\#{message.key}\\n")
        end
      end
    end
  RUBY
  done = lambda do
    Dir.glob("#{swarm.directory}/done.*").flat_map { |path| File.readlines(path, chomp: true) }
  end
  swarm.await("node_assigned", times: 2)
  random = Random.new(Integer(ENV.fetch("SEED", Random.new_seed % 1_000)))
  KILLS.times do
    before = done.call.size
    swarm.follow("nodes are at work") { done.call.size > before || before >= count }
    moment = Skep::OS.now + random.rand(0.6)
    nil while swarm.read(moment)
    victim = swarm.status("readers")["nodes"].select { |node| node["state"] == "ready" }
                  .sample(random:)
    swarm.kill(victim["pid"]) if victim
  rescue Errno::ESRCH # it has been replaced meanwhile
    next
  end
  swarm.follow("every message is handled", seconds: 120) { done.call.uniq.size == count }
  suspected = swarm.events.count { |event| event["event"] == "work_isolated" }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

  puts "#{suspected} of #{KILLS} kills found something in hand, " \
       "#{done.call.size - count} messages were handled again, seed #{random.seed}"
  must("find them at work") { suspected > KILLS / 4 }
  must("set nothing aside") { read(dead).empty? }
end
