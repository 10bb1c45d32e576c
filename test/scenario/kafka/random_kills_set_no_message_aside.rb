# frozen_string_literal: true

require_relative "scenario"

# Nodes are killed repeatedly at random moments, with messages in flight. Every message is handled,
# and none is blamed for the kills.
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
    swarm.follow("the nodes process messages") { done.call.size > before || before >= count }
    moment = Skep::OS.now + random.rand(0.6)
    nil while swarm.read(moment)
    victim = swarm.status("readers")["nodes"].select { |node| node["state"] == "ready" }
                  .sample(random:)
    swarm.kill(victim["pid"]) if victim
  rescue Errno::ESRCH # the node has already exited
    next
  end
  swarm.follow("every message is handled", seconds: 120) { done.call.uniq.size == count }
  suspected = swarm.events.count { |event| event["event"] == "work_isolated" }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }

  puts "#{suspected} of #{KILLS} kills had messages in flight, " \
       "#{done.call.size - count} messages were handled again, seed #{random.seed}"
  must("have messages in flight at some kills") { suspected > KILLS / 4 }
  must("write no dead letter") { read(dead).empty? }
end
