# frozen_string_literal: true

# A warm mold whose first node takes more memory than the nodes before it is dropped: it is told of,
# that node makes way for one of the mold before, and the warm mold goes. No other node follows it,
# and all stay ready. So it is with one whose first node isn't well.
require_relative "scenario"

SWARM = <<~RUBY
  Skep.swarm "dear", nodes: 3, refork_after: 30, log_level: :debug do |swarm|
    swarm.work do |node|
      node.ready!
      %<wrong>s if node.mold.positive?
      until node.stopping?
        node.processed
        node.wait(0.005)
      end
    end
  end
RUBY

WRONG = { 'ballast = "x" * (64 << 20)' => /its first node takes \d+\.\d MiB, those before \d/,
          'node.unhealthy!("no database")' => /its first node isn't well: no database/ }.freeze

Scenario.play do
  WRONG.each do |wrong, why|
    swarm = run_swarm(format(SWARM, wrong:))
    failed = swarm.await("refork_failed")
    must("say why: #{failed}") { failed["error"].match?(why) }
    swarm.await("mold_died") { |event| event["mold"] == 1 }
    nodes = swarm.status("dear")["nodes"]
    must("be as before: #{nodes}") do
      nodes.map { |node| node.values_at("state", "mold") } == [["ready", 0]] * 3
    end
    must("keep three ready: #{swarm.least_ready(3)}") { swarm.least_ready(3) == 3 }
    forked = swarm.events.select { |event| event["event"] == "node_forked" && event["mold"] == 1 }
    must("have tried it with one node: #{forked}") { forked.size == 1 }
    must("stop with 0") { swarm.stop.exitstatus == 0 }
  end
end
