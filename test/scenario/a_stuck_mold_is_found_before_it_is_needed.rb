# frozen_string_literal: true

# A mold that is stopped while no fork is needed doesn't answer pings. It is killed and replaced,
# and no node is affected.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "idle", nodes: 2, liveness_timeout: 1 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  swarm.await("node_ready", times: 2)
  first = swarm.await("mold_ready")["pid"]
  swarm.kill(first, :STOP)
  hung = swarm.await("mold_hung")
  must("publish the mold's state: #{hung}") { hung.values_at("pid", "state") == [first, "stopped"] }
  must("kill it") do
    swarm.await("mold_died").values_at("pid", "signal", "reason") == [first, "KILL", "hung"]
  end
  must("start another") { swarm.await("mold_ready")["pid"] != first }
  must("leave the nodes alone") do
    swarm.status("idle")["nodes"].all? { |node| node["restarts"].zero? }
  end
  must("leave the new mold alone") do
    swarm.follow_for(3)
    swarm.events.one? { |event| event["event"] == "mold_hung" }
  end
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
