# frozen_string_literal: true

# The mold dies. Its nodes continue and are still supervised: a stopped node is found hung, and a
# node that has reached max_lifetime is replaced.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "idle", nodes: 2, liveness_timeout: 2, kill_timeout: 1, max_lifetime: 12 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  pids = swarm.await("node_ready", times: 2).to_h { |event| [event["node"], event["pid"]] }
  mold = swarm.await("mold_ready")
  swarm.kill(mold["pid"])
  swarm.await("mold_ready")
  swarm.kill(pids[1], :STOP)
  dead = swarm.await(GONE, times: 2).to_h { |event| [event["pid"], event["reason"]] }
  must("end both, each for its reason: #{dead}") do
    dead == { pids[1] => "hung", pids[0] => "max_lifetime" }
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
