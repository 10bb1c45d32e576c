# frozen_string_literal: true

# Starts 200 nodes (NODES=n). A quarter is killed at once, then 20 one by one, and each is replaced.
# The status shows all nodes, the supervisor's descriptors don't grow, and a stop ends all nodes.
# Prints how long each step took.
require_relative "scenario"

Scenario.play do
  count = Integer(ENV.fetch("NODES", "200"))
  free = File.read("/proc/meminfo")[/^MemAvailable:\s+(\d+)/, 1].to_i >> 10
  skip "memory: #{free} MiB aren't enough" if free < count * 10

  began = Skep::OS.now
  took = -> { "#{(Skep::OS.now - began).round(1)} s".tap { began = Skep::OS.now } }
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "crowd", nodes: #{count}, max_restarts: 1_000, stop_timeout: #{Patience.of(30)},
                        kill_timeout: #{Patience.of(5)} do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  mold = swarm.await("mold_ready", seconds: 120)["pid"]
  pids = swarm.await("node_ready", times: count, seconds: 120)
              .to_h { |event| [event["node"], event["pid"]] }
  puts "#{count} nodes ready in #{took.call}"
  files = -> { Dir.children("/proc/#{swarm.pid}/fd").size }
  before = files.call
  quarter = (0...count).step(4).to_a
  quarter.each { |id| swarm.kill(pids[id]) }
  replaced = swarm.await("node_ready", times: quarter.size, seconds: 120)
  must("replace the killed nodes, and no other") do
    replaced.map { |event| event["node"] }.sort == quarter
  end
  puts "#{quarter.size} killed at once and replaced in #{took.call}"
  replaced.first(20).each do |event|
    swarm.kill(event["pid"])
    swarm.await("node_ready") { |again| again["node"] == event["node"] }
  end
  puts "20 more, one after the other, in #{took.call}"

  nodes = swarm.status("crowd")["nodes"]
  puts "status in #{took.call}; supervisor: #{Skep::OS::Memory.of(swarm.pid).uss >> 20} MiB"
  must("show all nodes as ready") do
    nodes.size == count && nodes.all? { |node| node["state"] == "ready" }
  end
  swarm.follow("it has no more descriptors than before: #{before}") { files.call <= before }
  no_zombie(swarm, [swarm.pid, mold])
  took.call
  must("stop with 0; #{swarm.account}") { swarm.stop(seconds: 120).exitstatus.zero? }
  puts "stopped in #{took.call}"
  await_exit(swarm.nodes)
end
