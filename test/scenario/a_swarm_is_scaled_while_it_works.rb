# frozen_string_literal: true

# `skep scale N` adds nodes to a running swarm, or removes those with the least work in flight,
# which finish it first. Ids stay unique: a new node gets the lowest free id, once the last process
# with that id has ended. An impossible number is refused in one sentence.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "scaled", nodes: 2 do |swarm|
    swarm.work do |node|
      node.in_flight("item of \#{node.id}") if node.id.odd?
      node.ready!
      node.wait until node.stopping?
      node.event(:leaves, scaling_down: node.scaling_down?)
      File.read("\#{__dir__}/held") if File.exist?("\#{__dir__}/held")
    end
  end
RUBY

def scale(swarm, *arguments) = swarm.skep("scale", *arguments)

def ids(swarm)
  swarm.status("scaled")["nodes"].select { |node| node["state"] == "ready" }
       .map { |node| node["id"] }
end

Scenario.play do
  swarm = run_swarm(SOURCE)
  swarm.await("node_ready", times: 2)

  must("add four nodes") { scale(swarm, "scaled", "6").nil? }
  swarm.await("node_ready", times: 4)
  must("number the nodes in order: #{ids(swarm)}") { ids(swarm) == (0..5).to_a }

  must("remove three nodes") { scale(swarm, "3").nil? }
  died = swarm.await(GONE, times: 3)
  must("let the removed nodes finish: #{died}") do
    died.all? { |event| event.values_at("exit_status", "reason") == [0, "scale"] }
  end
  left = swarm.await("leaves", times: 3)
  must("set scaling_down? in these nodes: #{left}") { left.all? { |event| event["scaling_down"] } }
  must("keep nodes with an item in flight: #{ids(swarm)}") { ids(swarm) == [1, 3, 5] }

  must("add two nodes") { scale(swarm, "5").nil? }
  swarm.await("node_ready", times: 2)
  must("use the free ids: #{ids(swarm)}") { ids(swarm) == [0, 1, 2, 3, 5] }

  held = "#{swarm.directory}/held"
  File.mkfifo(held)
  must("remove one node, which ends slowly") { scale(swarm, "4").nil? }
  must("add a node meanwhile") { scale(swarm, "5").nil? }
  must("not reuse its id yet") { swarm.await("node_ready")["node"] == 4 }
  File.write(held, "continue") # once the node reads
  File.unlink(held)
  must("let the removed node exit") { swarm.await("node_exited")["exit_status"] == 0 }
  must("have five nodes: #{ids(swarm)}") { ids(swarm) == [0, 1, 3, 4, 5] }

  %w[0 -1 100000000].each do |count|
    why = scale(swarm, "scaled", "--", count)
    must("refuse #{count} in a sentence: #{why}") { why.to_s.match?(/whole number|room for/) }
  end
  why = scale(swarm, "scaled", "many")
  must("refuse a word: #{why}") { why.include?("whole number, 1 or more (got many)") }
  must("change nothing") { ids(swarm) == [0, 1, 3, 4, 5] }

  swarm.kill(swarm.status("scaled")["nodes"].last["pid"])
  swarm.await("node_ready") { |event| event["node"] == 5 }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  left = swarm.events.select { |event| event["event"] == "leaves" }.last(5)
  must("not set scaling_down? at a stop: #{left}") { left.none? { |event| event["scaling_down"] } }
end
