# frozen_string_literal: true

# A plain loop that runs until `node.wait` returns true ends when the swarm is made quiet. That is
# no crash: its slot is empty until the resume, and then has a node at once.
require_relative "scenario"

SOURCE = <<~'RUBY'
  Skep.swarm "loops", nodes: 2, max_restarts: 1, on_crash_loop: :stop do |swarm|
    swarm.work { |node| node.beat until node.wait(0.1) }
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  swarm.await("node_ready", times: 2)
  3.times do
    swarm.output_of("quiet", "loops")
    swarm.await("node_exited", times: 2)
    must("show that the slots wait") do
      swarm.status("loops")["nodes"].map { |node| node["state"] } == %w[waiting waiting]
    end
    swarm.output_of("resume", "loops")
    swarm.await("node_ready", times: 2)
  end
  must("report no crash loop: #{swarm.account}") do
    swarm.events.none? { |one| %w[crash_loop node_waiting].include?(one["event"]) }
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
