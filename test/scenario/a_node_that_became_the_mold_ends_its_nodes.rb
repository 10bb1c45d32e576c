# frozen_string_literal: true

# With refork_after, the previous mold exits, and the node that became the mold continues. After
# SIGKILL to the supervisor this mold ends its nodes, and what they have started, within
# orphan_timeout. Without the C extension the first mold stays, and does the same.
require_relative "scenario"

SOURCE = HANG + <<~'RUBY'
  Skep.swarm "chain", nodes: 3, refork_after: 30, orphan_timeout: 0.5, max_restarts: 1_000_000 do |swarm|
    swarm.work do |node|
      node.event(:here, started: spawn("sleep infinity"))
      node.ready!
      until node.stopping?
        node.processed if node.mold.zero?
        node.wait(0.005)
        hang if File.exist?("#{__dir__}/hang") && node.id > 0
      end
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  mold = first = swarm.await("mold_ready")["pid"]
  swarm.await("here", times: 3)
  if Skep::OS.native?
    mold = swarm.await("node_became_mold")["pid"]
    swarm.await("refork_finished")
    await_exit([first]) # it was released; its orphan_timeout doesn't apply to the new mold
    swarm.follow_for(2)
  end
  here = swarm.events.select { |event| event["event"] == "here" }
  nodes = swarm.status("chain")["nodes"].map { |node| node["pid"] }
  must("keep the mold and its nodes: #{swarm.account}") do
    [mold, *nodes].all? { |pid| File.exist?("/proc/#{pid}") }
  end
  old = here.reject { |event| nodes.include?(event["pid"]) }.map { |event| event["started"] }
  must("end what the previous nodes have started") { await_exit(old) }

  File.write("#{swarm.directory}/hang", "")
  swarm.kill(nodes.first, :STOP)
  swarm.signal(:KILL)
  await_exit([mold, *here.flat_map { |event| event.values_at("pid", "started") }])
end
