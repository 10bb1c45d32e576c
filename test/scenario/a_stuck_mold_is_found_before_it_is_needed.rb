# frozen_string_literal: true

# A mold that is stopped while nobody needs it is found by the roll call, ended and replaced; no
# node notices.
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
  must("tell how it was found: #{hung}") { hung.values_at("pid", "state") == [first, "stopped"] }
  must("end it") { swarm.await("mold_died").values_at("pid", "signal") == [first, "KILL"] }
  must("make another") { swarm.await("mold_ready")["pid"] != first }
  must("leave the nodes alone") do
    swarm.status("idle")["nodes"].all? { |node| node["restarts"].zero? }
  end
  must("leave the new one alone") do
    swarm.follow_for(3)
    swarm.events.one? { |event| event["event"] == "mold_hung" }
  end
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
