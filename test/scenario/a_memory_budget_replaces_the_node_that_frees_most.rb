# frozen_string_literal: true

# A swarm over its memory_budget replaces one node: the node whose end frees most memory, although
# the other nodes have larger RSS because of shared pages. After that no other node is replaced.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    BALLAST = "x" * (300 << 20)
    Skep.swarm "frugal", nodes: 3, memory_budget: "480M" do |swarm|
      swarm.work do |node|
        node.ready!
        node.wait(11) # skep expects the memory of the first 10 s in the successor, too
        replaced = File.exist?("\#{__dir__}/replaced\#{node.id}")
        File.write("\#{__dir__}/replaced\#{node.id}", "")
        own = "y" * ((replaced ? 1 : { 0 => 50, 1 => 110, 2 => 30 }[node.id]) << 20)
        BALLAST.clear if node.id == 1 # its RSS drops 300 MB below the others', as it shares less
        node.wait until node.stopping?
      end
    end
  RUBY
  swarm.await("node_ready", times: 3)
  over = swarm.await("swarm_over_budget", seconds: 60) # skep measures idle nodes only
  must("pick the node with most private memory: #{over}") do
    over["node"] == 1 && over["bytes"] > over["budget"] && over["uss"] > 60 << 20
  end
  died = swarm.await(GONE)
  must("stop it with reason memory_budget: #{died}; #{swarm.account}") do
    died["node"] == 1 && died["reason"] == "memory_budget"
  end
  swarm.await("node_replaced")
  began = Skep::OS.now
  swarm.follow("skep measures the nodes again") { Skep::OS.now > began + 3 }
  nodes = swarm.status("frugal")["nodes"]
  must("leave the others alone: #{nodes}") { nodes.map { |node| node["restarts"] } == [0, 1, 0] }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
