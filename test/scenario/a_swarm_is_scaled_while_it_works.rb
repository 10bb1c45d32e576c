# frozen_string_literal: true

# `skep scale N` gives a running swarm more nodes, or takes some away: those with the least to do,
# each of which finishes what it has. Ids stay unique: the lowest free ones are given again, once
# the last process that had them is gone. What can't be had is refused in a sentence.
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

  must("grow") { scale(swarm, "scaled", "6").nil? }
  swarm.await("node_ready", times: 4)
  must("number them: #{ids(swarm)}") { ids(swarm) == (0..5).to_a }

  must("shrink") { scale(swarm, "3").nil? }
  died = swarm.await(GONE, times: 3)
  must("let them finish: #{died}") do
    died.all? { |event| event.values_at("exit_status", "reason") == [0, "scale"] }
  end
  left = swarm.await("leaves", times: 3)
  must("say that it is for good: #{left}") { left.all? { |event| event["scaling_down"] } }
  must("keep those that have something in hand: #{ids(swarm)}") { ids(swarm) == [1, 3, 5] }

  must("grow again") { scale(swarm, "5").nil? }
  swarm.await("node_ready", times: 2)
  must("fill the gaps: #{ids(swarm)}") { ids(swarm) == [0, 1, 2, 3, 5] }

  held = "#{swarm.directory}/held"
  File.mkfifo(held)
  must("shrink by one, that takes its time") { scale(swarm, "4").nil? }
  must("grow meanwhile") { scale(swarm, "5").nil? }
  must("give its id to nobody yet") { swarm.await("node_ready")["node"] == 4 }
  File.write(held, "go on") # once it reads
  File.unlink(held)
  must("end by itself") { swarm.await("node_exited")["exit_status"] == 0 }
  must("have five: #{ids(swarm)}") { ids(swarm) == [0, 1, 3, 4, 5] }

  %w[0 -1 100000000].each do |count|
    why = scale(swarm, "scaled", "--", count)
    must("refuse #{count} in a sentence: #{why}") { why.to_s.match?(/whole number|room for/) }
  end
  why = scale(swarm, "scaled", "many")
  must("refuse what is no number: #{why}") { why.include?("whole number, 1 or more (got many)") }
  must("be as before") { ids(swarm) == [0, 1, 3, 4, 5] }

  swarm.kill(swarm.status("scaled")["nodes"].last["pid"])
  swarm.await("node_ready") { |event| event["node"] == 5 }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  left = swarm.events.select { |event| event["event"] == "leaves" }.last(5)
  must("keep their slots at a stop: #{left}") { left.none? { |event| event["scaling_down"] } }
end
