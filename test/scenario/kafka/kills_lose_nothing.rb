# frozen_string_literal: true

# A real broker, a swarm that consumes it, and SIGKILL for its nodes, then its supervisor, then its mold: run again each
# time, every message is handled at least once, and no process is left over.
require_relative "../scenario"
require "skep/kafka"

MESSAGES = Integer(ENV.fetch("MESSAGES", "30000"))
KILLS = 6

Scenario.play do
  broker = ENV.fetch("SKEP_KAFKA_BROKER")
  brokers = IO.popen([broker, "start", "#{directory}/broker", "19292"], &:read)[/\S+:\d+/]
  at_end { system(broker, "stop", "#{directory}/broker") }
  source = <<~RUBY
    require "skep/kafka"
    require "json"
    Skep.swarm "orders", nodes: 3, restarts: 100 do |swarm|
      swarm.on_boot { |child| @done = File.open("\#{__dir__}/done.\#{Process.pid}", "a") }
      source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{brokers}", "auto.offset.reset": "earliest" },
                                       group: "orders", topics: ["orders"], batch: 50, commit_every: 0.5)
      swarm.work(source) do |batch, child|
        batch.each { |message| @done.syswrite("\#{JSON.parse(message.payload)["id"]}\\n") }
      end
    end
  RUBY
  feed = Skep::Kafka::Feed.new(brokers, "orders")
  feed.create_topic(8)
  feed.publish((0...MESSAGES).map { |id| ["key#{id}", JSON.generate(id:)] })
  feed.close

  done = -> { Dir.glob("#{directory}/done.*").flat_map { |path| File.readlines(path) }.map(&:to_i) }

  swarm = run_swarm(source, in_directory: directory)
  swarm.await("node_ready", times: 3)
  KILLS.times do |round|
    victim = swarm.status("orders")["nodes"].select { |node| node["state"] == "ready" }.sample(random: Random.new(round))
    swarm.kill(victim["pid"])
    swarm.await("node_ready") { |event| event["node"] == victim["id"] && event["pid"] != victim["pid"] }
  end
  nodes = swarm.nodes
  swarm.signal(:KILL)
  swarm.wait
  gone(nodes)

  swarm = run_swarm(source, in_directory: directory)
  swarm.await("node_ready", times: 3)
  mold = swarm.await("mold_ready")["pid"]
  swarm.kill(mold)
  swarm.await("mold_ready")
  finished = -> { done.call.uniq.size == MESSAGES }
  swarm.follow("every message was handled", seconds: 120) { finished.call }
  nodes = swarm.nodes
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  gone([*nodes, mold])

  all = done.call
  puts "#{MESSAGES} messages, #{all.uniq.size} distinct, #{all.size - all.uniq.size} duplicates"
  must("lose nothing") { all.uniq.size == MESSAGES }
end
