# frozen_string_literal: true

# A transactional swarm on a real broker. Its nodes get SIGKILL at random moments, and one SIGSTOP
# for longer than the session timeout. Some handlers raise. Then the supervisor gets SIGKILL, and
# the swarm is run again. A read_committed consumer finds exactly one output for each message.
# (MESSAGES=n and KILLS=n for more.)
require_relative "scenario"

MESSAGES = Integer(ENV.fetch("MESSAGES", "9000"))
KILLS = Integer(ENV.fetch("KILLS", "4"))
SESSION = 6.0 # seconds, the broker's minimum
NODES = 3
BATCH = (MESSAGES / (KILLS * 50)).clamp(1, 500) # so that nodes process batches at each kill

KafkaScenario.play do
  orders = topic("orders", 6)
  outputs = topic("outputs", 3)
  feed(orders, (0...MESSAGES).map { |id| ["key#{id}", id.to_s] })
  source = <<~RUBY
    require "skep/kafka"
    kafka = { "bootstrap.servers": "#{broker.address}", "session.timeout.ms": #{(SESSION * 1000).to_i} }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}", threads: 2,
                                     max_messages: #{BATCH}, transactional: true,
                                     retry_backoff: 0.01)
    Skep.swarm "orders", nodes: #{NODES}, max_restarts: 1_000, liveness_timeout: 60 do |swarm|
      swarm.on_boot { @done = File.open("\#{__dir__}/done.\#{Process.pid}", "a") }
      swarm.work(source) do |batch, node|
        batch.each do |message|
          node.producer.produce("#{outputs}", message.payload, key: message.key)
        end
        raise "after its output" if Random.rand < 0.02
        IO.select(nil, nil, nil, 0.5) if File.exist?("\#{__dir__}/slow")
        @done.syswrite("\#{batch.size}\\n")
      end
    end
  RUBY
  done = lambda do
    Dir.glob("#{directory}/done.*").sum { |path| File.readlines(path).sum(&:to_i) }
  end
  seconds = 60 + (MESSAGES / 500)

  File.write("#{directory}/slow", "") # so that nodes process batches at each kill
  swarm = run_swarm(source, in_directory: directory)
  swarm.await("node_ready", times: NODES)
  swarm.follow("the nodes process messages") { done.call.positive? }
  stopped = swarm.status("orders")["nodes"].first
  swarm.kill(stopped["pid"], :STOP)
  stopped_since = Skep::OS.now
  random = Random.new
  KILLS.times do
    ready = swarm.status("orders")["nodes"].select { |node| node["state"] == "ready" }
    victim = ready.reject { |node| node["id"] == stopped["id"] }.sample(random:)
    swarm.kill(victim["pid"])
    swarm.await("node_ready") do |event|
      event["node"] == victim["id"] && event["pid"] != victim["pid"]
    end
    swarm.follow_for(random.rand(0.8))
  end
  swarm.follow_for(SESSION + 1.0 - (Skep::OS.now - stopped_since))
  swarm.kill(stopped["pid"], :CONT)
  must("have messages left at the last kill") { done.call.between?(1, MESSAGES - 1) }
  nodes = swarm.nodes
  swarm.signal(:KILL)
  swarm.wait
  await_exit(nodes)

  File.unlink("#{directory}/slow")
  swarm = run_swarm(source, in_directory: directory)
  swarm.await("node_ready", times: NODES)
  swarm.follow("each message is committed", seconds:) { committed("orders", orders, 6) == MESSAGES }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }

  found = read_committed(outputs, 3).map(&:to_i)
  twice = found.tally.count { |_, count| count > 1 }
  puts "#{MESSAGES} messages, handled #{done.call} times, #{KILLS + 1} kills: " \
       "#{found.size} outputs committed, #{twice} twice, #{MESSAGES - found.uniq.size} lost"
  must("write each output once") { found.sort == (0...MESSAGES).to_a }
end
