# frozen_string_literal: true

# swarm.on(:event) blocks run in a process of their own:
# they hear every event, one that raises or dies costs nothing.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "heard", nodes: 2, max_restarts: 100 do |swarm|
      note = ->(text) { File.write("\#{__dir__}/heard", "\#{text}\\n", mode: "a") }
      swarm.on(:node_ready) { |facts| note.call("ready \#{facts['node']} by \#{Process.pid}") }
      swarm.on(:node_exited) { |facts| note.call("exited \#{facts['node']}") }
      swarm.on(:node_died) { |facts| note.call("died \#{facts['node']} \#{facts['signal']}") }
      swarm.on(:node_died) { raise "a bad block" }
      swarm.on(:swarm_started) { |facts| note.call("started \#{facts['nodes']}") }
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  ready = swarm.await("node_ready", times: 3) # the helper too
  helper = ready.find { |event| event["node"] == "helper" }
  nodes = ready - [helper]
  heard = lambda do
    path = "#{swarm.directory}/heard"
    File.exist?(path) ? File.readlines(path, chomp: true) : []
  end
  swarm.follow("the blocks heard of the start") { heard.call.size == 3 }
  must("hear what was before it: #{heard.call}") { heard.call.first == "started 2" }
  must("run in the helper") do
    heard.call[1..].all? { |line| line.end_with?("by #{helper['pid']}") }
  end

  swarm.kill(nodes[0]["pid"])
  swarm.await("node_ready")
  must("tell of a block that raised") do
    swarm.await("hook_failed")["error"] == "RuntimeError: a bad block"
  end
  swarm.kill(helper["pid"])
  again = swarm.await("node_ready") do |event|
    event["node"] == "helper" && event["pid"] != helper["pid"]
  end
  must("not count the helper as a node") { swarm.status("heard")["nodes"].size == 2 }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  gone([*swarm.nodes, again["pid"]])
  must("hear of the last node's end: #{heard.call.last(3)}") do
    heard.call.last(2).sort == ["exited 0", "exited 1"]
  end
end
