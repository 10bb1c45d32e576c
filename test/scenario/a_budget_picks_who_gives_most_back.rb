# frozen_string_literal: true

# A swarm over its budget renews one node, and it is the one whose end gives most back: though the
# others have larger RSS, for what they share. Once it has gone no other is picked.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    BALLAST = "x" * (300 << 20)
    Skep.swarm "frugal", nodes: 3, memory_budget: "480M" do |swarm|
      swarm.work do |node|
        node.ready!
        node.wait(11) # what a node has in its first ten seconds its successor will have, too
        renewed = File.exist?("\#{__dir__}/renewed\#{node.id}")
        File.write("\#{__dir__}/renewed\#{node.id}", "")
        own = "y" * ((renewed ? 1 : { 0 => 50, 1 => 110, 2 => 30 }[node.id]) << 20)
        BALLAST.clear if node.id == 1 # it sees 300 MB less than the others, and shares less
        node.wait until node.stopping?
      end
    end
  RUBY
  swarm.await("node_ready", times: 3)
  over = swarm.await("swarm_over_budget", seconds: 60) # looked at when they have been idle a while
  must("pick the node with most of its own: #{over}") do
    over["node"] == 1 && over["bytes"] > over["budget"] && over["uss"] > 60 << 20
  end
  died = swarm.await(GONE)
  must("end it for that reason: #{died}; #{swarm.account}") do
    died["node"] == 1 && died["reason"] == "memory_budget"
  end
  swarm.await("node_replaced")
  began = Skep::OS.now
  swarm.follow("it is looked at again") { Skep::OS.now > began + 3 }
  nodes = swarm.status("frugal")["nodes"]
  must("leave the others alone: #{nodes}") { nodes.map { |node| node["restarts"] } == [0, 1, 0] }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
