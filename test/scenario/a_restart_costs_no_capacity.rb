# frozen_string_literal: true

# USR2 renews every node, one at a time, each new one ready before its predecessor is told to stop:
# at no moment are fewer nodes ready than there should be. A node that dies meanwhile is replaced,
# and the restart goes on. One node can be renewed without the others.
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
  must("name the reason of each end: #{died}") do
    died.all? { |event| event.values_at("reason", "exit_status") == ["restart", 0] }
  end
  must("have renewed all") do
    (swarm.status("rolling")["nodes"].map { |node| node["pid"] } & first).empty?
  end
  must("keep three ready: #{swarm.least_ready(3)}") { swarm.least_ready(3) == 3 }

  one_of = swarm.status("rolling")["nodes"].map { |node| node["pid"] }
  must("renew one node") { swarm.skep("restart", "rolling", "--node", "1").nil? }
  renewed = swarm.status("rolling")["nodes"].map { |node| node["pid"] }
  must("renew node 1 only") { one_of.zip(renewed).map { |a, b| a == b } == [true, false, true] }
  must("know its nodes") { swarm.skep("restart", "--node", "7")&.include?("no node 7, but 0") }

  swarm.await("node_replacing", times: 4) # of the restarts before
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
