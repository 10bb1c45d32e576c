# frozen_string_literal: true

# The mold of a node dies: the node is watched as before. Hung, it is replaced; and one that was
# being ended when the mold died is ended all the same.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "idle", nodes: 3, max_restarts: 100, liveness_timeout: 1, kill_timeout: 1 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  pids = swarm.await("node_ready", times: 3).to_h { |event| [event["node"], event["pid"]] }
  swarm.kill(pids[0], :STOP)
  swarm.await("node_hung") { |event| event["node"].zero? }
  swarm.kill(swarm.await("mold_ready")["pid"]) # between its TERM and its KILL
  died = swarm.await(GONE)
  must("end the hung one: #{died}") { died.values_at("node", "reason") == [0, "hung"] }
  swarm.await("mold_ready")
  swarm.kill(pids[1], :STOP)
  must("find one that hangs now") { swarm.await("node_hung")["node"] == 1 }
  must("end it too") { swarm.await(GONE).values_at("node", "reason") == [1, "hung"] }
  swarm.await("node_ready", times: 2)
  must("leave the third alone") { swarm.status("idle")["nodes"][2]["pid"] == pids[2] }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
