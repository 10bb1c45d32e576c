# frozen_string_literal: true

# swarm.on(:event) blocks run in the helper, a separate process. They receive every event, also
# those from before the helper's start. A block that raises, or a killed helper, affects no node.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "noted", nodes: 2, max_restarts: 100 do |swarm|
      note = ->(text) { File.write("\#{__dir__}/noted", "\#{text}\\n", mode: "a") }
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
  noted = lambda do
    path = "#{swarm.directory}/noted"
    File.exist?(path) ? File.readlines(path, chomp: true) : []
  end
  swarm.follow("the blocks have run for the start") { noted.call.size == 3 }
  must("pass on earlier events: #{noted.call}") { noted.call.first == "started 2" }
  must("run in the helper") do
    noted.call[1..].all? { |line| line.end_with?("by #{helper['pid']}") }
  end

  swarm.kill(nodes[0]["pid"])
  swarm.await("node_ready")
  must("report a block that raised") do
    swarm.await("hook_failed")["error"] == "RuntimeError: a bad block"
  end
  swarm.kill(helper["pid"])
  again = swarm.await("node_ready") do |event|
    event["node"] == "helper" && event["pid"] != helper["pid"]
  end
  must("not count the helper as a node") { swarm.status("noted")["nodes"].size == 2 }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  await_exit([*swarm.nodes, again["pid"]])
  must("pass on the last node's exit: #{noted.call.last(3)}") do
    noted.call.last(2).sort == ["exited 0", "exited 1"]
  end
end
