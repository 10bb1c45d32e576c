# frozen_string_literal: true

# USR2 replaces the nodes one at a time. Each new node is ready before its predecessor gets TERM, so
# all slots stay ready. A node that dies meanwhile is replaced, and the restart continues. With
# `--node` one node is restarted.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "rolling", nodes: 3 do |swarm|
    swarm.on_boot { |node| IO.select(nil, nil, nil, 0.05) }
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  first = swarm.await("node_ready", times: 3).map { |event| event["pid"] }
  swarm.signal(:USR2)
  swarm.await("restart_finished")
  died = swarm.await("node_exited", times: 3)
  must("publish each exit with its reason: #{died}") do
    died.all? { |event| event.values_at("reason", "exit_status") == ["restart", 0] }
  end
  must("replace all nodes") do
    (swarm.status("rolling")["nodes"].map { |node| node["pid"] } & first).empty?
  end
  must("keep three nodes ready: #{swarm.least_ready(3)}") { swarm.least_ready(3) == 3 }

  before = swarm.status("rolling")["nodes"].map { |node| node["pid"] }
  must("replace one node") { swarm.skep("restart", "rolling", "--node", "1").nil? }
  after = swarm.status("rolling")["nodes"].map { |node| node["pid"] }
  must("replace node 1 only") { before.zip(after).map { |a, b| a == b } == [true, false, true] }
  must("refuse node 7") { swarm.skep("restart", "--node", "7")&.include?("no node 7, but 0") }

  swarm.await("node_replacing", times: 4) # of the previous restarts
  swarm.signal(:USR2)
  swarm.await("node_replacing")
  victim = swarm.status("rolling")["nodes"].last["pid"]
  swarm.kill(victim)
  swarm.await("restart_finished", times: 2)
  swarm.follow("all three are ready") do
    swarm.status("rolling")["nodes"].map { |node| node["state"] } == %w[ready] * 3
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
