# frozen_string_literal: true

# The mold is stopped. A node that dies meanwhile is still detected, and the mold is killed and
# replaced. A node that the mold was asked for is forked by the next, also if nothing is restarted.
# A stuck mold doesn't prevent a stop.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(IDLE)
  nodes = swarm.await("node_ready", times: 3)
  first = swarm.await("mold_ready")["pid"]
  swarm.kill(first, :STOP)
  swarm.kill(nodes[0]["pid"])
  must("kill the stuck mold") do
    swarm.await("mold_died").values_at("pid", "signal", "reason") == [first, "KILL", "hung"]
  end
  must("publish the node's death") { swarm.await(GONE)["pid"] == nodes[0]["pid"] }
  swarm.await("node_ready")
  must("show how the node has ended, whatever the mold was asked for since") do
    last = swarm.status("idle")["nodes"].find { |node| node["last_exit"] }
    signal = last["last_exit"]["signal"]
    signal == "KILL" || (signal.nil? && !Skep::OS.native?)
  end
  must("keep the others") do
    swarm.status("idle")["nodes"].count { |node| node["restarts"].zero? } == 2
  end

  second = swarm.await("mold_ready")["pid"]
  swarm.kill(second, :STOP)
  status = swarm.stop
  must("stop although its mold is stuck: #{status.inspect}; #{swarm.account}") do
    [0, 2].include?(status.exitstatus)
  end
  await_exit([*swarm.nodes, second])

  gate = File.join(directory, "gate").tap { |path| File.mkfifo(path) }
  once = run_swarm(<<~RUBY)
    Skep.swarm "once", nodes: 2, boot_concurrency: 1, restart: :never do |swarm|
      swarm.on_boot { |node| File.read("#{gate}") if node.id.zero? }
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  once.await("node_forked")
  mold = once.await("mold_ready")["pid"]
  once.kill(mold, :STOP)
  File.write(gate, "open") # its end is the end of the file
  once.await("node_ready")
  once.kill(mold)
  must("start the node that was never forked") { once.await("node_ready")["node"] == 1 }
  must("stop with 0; #{once.account}") { once.stop.exitstatus.zero? }

  stubborn = run_swarm(<<~RUBY)
    Skep.swarm("a", nodes: 2, stop_timeout: 0.5) do |s|
      s.work { |c| c.ready!; IO.select([IO.pipe.first], nil, nil, 3600) }
    end
  RUBY
  stubborn.await("node_ready", times: 2)
  stubborn.kill(stubborn.await("mold_ready")["pid"], :STOP)
  must("exit with 2 when it kills nodes") { stubborn.stop.exitstatus == 2 }
  await_exit(stubborn.nodes)
end
