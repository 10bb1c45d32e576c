# frozen_string_literal: true

# An ordinary swarm file on a real broker. The nodes get SIGKILL, then the supervisor. The swarm is
# run again, and its mold gets SIGKILL. Every message is handled at least once, and no process is
# left. (MESSAGES=n for more.)
require_relative "scenario"

MESSAGES = Integer(ENV.fetch("MESSAGES", "30000"))
KILLS = 6

KafkaScenario.play do
  topic = topic("orders", 8)
  feed(topic, (0...MESSAGES).map { |id| ["key#{id}", JSON.generate(id:)] })
  source = <<~RUBY
    require "skep/kafka"
    require "json"
    kafka = { "bootstrap.servers": "#{broker.address}" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: ["#{topic}"], threads: 2,
                                     max_messages: 50, commit_interval: 0.5)
    Skep.swarm "orders", nodes: 3, max_restarts: 100 do |swarm|
      swarm.on_boot { @done = File.open("\#{__dir__}/done.\#{Process.pid}", "a") }
      swarm.work(source) do |batch, node|
        batch.each do |message|
          IO.select(nil, nil, nil, 0.005) if File.exist?("\#{__dir__}/slow")
          @done.syswrite("\#{JSON.parse(message.payload)["id"]}\\n")
        end
      end
    end
  RUBY
  done = lambda do
    Dir.glob("#{directory}/done.*").flat_map { |path| File.readlines(path) }.map(&:to_i)
  end

  File.write("#{directory}/slow", "") # so that nodes process batches at each kill
  swarm = run_swarm(source, in_directory: directory)
  swarm.await("node_ready", times: 3)
  swarm.follow("the nodes process messages") { done.call.any? }
  KILLS.times do |round|
    ready = swarm.status("orders")["nodes"].select { |node| node["state"] == "ready" }
    victim = ready.sample(random: Random.new(round))
    swarm.kill(victim["pid"])
    swarm.await("node_ready") do |event|
      event["node"] == victim["id"] && event["pid"] != victim["pid"]
    end
  end
  must("have messages left at the last kill") { done.call.uniq.size.between?(1, MESSAGES - 1) }
  nodes = swarm.nodes
  mold = swarm.await("mold_ready")["pid"]
  swarm.signal(:KILL)
  swarm.wait
  await_exit([*nodes, mold])

  File.unlink("#{directory}/slow")
  swarm = run_swarm(source, in_directory: directory)
  swarm.await("node_ready", times: 3)
  mold = swarm.await("mold_ready")["pid"]
  swarm.kill(mold)
  swarm.await("mold_ready")
  swarm.follow("every message is handled", seconds: 120) { done.call.uniq.size == MESSAGES }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  await_exit([*swarm.nodes, mold])

  all = done.call
  puts "#{MESSAGES} messages, #{all.size - all.uniq.size} handled twice, " \
       "#{MESSAGES - all.uniq.size} lost"
  must("lose no message") { all.uniq.size == MESSAGES }
end
