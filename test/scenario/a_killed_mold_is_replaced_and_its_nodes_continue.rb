# frozen_string_literal: true

# The mold is killed repeatedly. Its nodes continue, another mold starts, and nodes that die
# meanwhile are replaced.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(IDLE)
  nodes = swarm.await("node_ready", times: 3).to_h { |event| [event["node"], event["pid"]] }
  4.times do |round|
    mold = swarm.await("mold_ready")
    swarm.kill(mold["pid"])
    must("publish the signal that killed the mold") { swarm.await("mold_died")["signal"] == "KILL" }
    must("keep its nodes") do
      swarm.status("idle")["nodes"].to_h { |node| [node["id"], node["pid"]] } == nodes
    end
    victim = round % 3
    swarm.kill(nodes[victim]) # before or just as the next mold is ready
    died = swarm.await(GONE)
    must("publish the signal of an adopted node, with the C extension: #{died}") do
      died["pid"] == nodes[victim] && (died["signal"] == "KILL" || !Skep::OS.native?)
    end
    nodes[victim] = swarm.await("node_ready") { |event| event["node"] == victim }["pid"]
  end
  mold = swarm.await("mold_ready")
  pids = [*nodes.values, mold["pid"]]
  swarm.kill(mold["pid"])
  pids.first(3).each { |pid| swarm.kill(pid) } # all at once
  swarm.await("node_ready", times: 3)
  no_zombie(swarm, [swarm.pid])
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  await_exit(swarm.nodes)
end
