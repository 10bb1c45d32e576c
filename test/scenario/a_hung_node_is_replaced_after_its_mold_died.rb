# frozen_string_literal: true

# The mold of a node dies. The node is still supervised, and is replaced when it hangs. A node whose
# mold dies between its TERM and its KILL is still killed.
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
  must("kill the hung node: #{died}") { died.values_at("node", "reason") == [0, "hung"] }
  swarm.await("mold_ready")
  swarm.kill(pids[1], :STOP)
  must("find a node that hangs now") { swarm.await("node_hung")["node"] == 1 }
  must("kill it, too") { swarm.await(GONE).values_at("node", "reason") == [1, "hung"] }
  swarm.await("node_ready", times: 2)
  must("leave the third node alone") { swarm.status("idle")["nodes"][2]["pid"] == pids[2] }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
