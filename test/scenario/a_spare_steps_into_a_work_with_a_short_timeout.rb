# frozen_string_literal: true

# A spare beats as the swarm's liveness_timeout asks for. Until it has answered that it steps in,
# that of the work which it steps into isn't its own: no good spare is ended as hung, although its
# last beat is older, and its answer takes some turns of a busy interpreter.
require_relative "scenario"

ROUNDS = 4
SOURCE = <<~'RUBY'
  Skep.swarm "hasty", spares: 1, liveness_timeout: 30, max_restarts: 1_000 do |swarm|
    swarm.on_boot { 8.times { Thread.new { nil until ENV["SKEP_NODE_ID"] } } }
    swarm.work("hasty", nodes: 1, liveness_timeout: 2, boot_timeout: 20) do |node|
      node.beat until node.wait(0.1)
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  ready = swarm.await("node_ready")
  ROUNDS.times do |round|
    swarm.await("spare_ready")
    swarm.follow_for(3) # its beat is older than the work's timeout
    swarm.kill(ready["pid"])
    ready = swarm.await("node_ready")
    stepped = swarm.await("spare_stepped_in")
    must("let the spare step in in round #{round}: #{swarm.account}") do
      stepped["pid"] == ready["pid"]
    end
  end
  must("consider no node hung: #{swarm.account}") do
    swarm.events.none? { |event| event["event"] == "node_hung" }
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus.zero? }
end
