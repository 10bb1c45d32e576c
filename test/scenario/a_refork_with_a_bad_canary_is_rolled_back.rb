# frozen_string_literal: true

# A refork is rolled back if its canary, the first node of the warm mold, takes more memory than the
# nodes before or reports unhealthy. The reason is logged, a node of the previous mold replaces the
# canary, and the warm mold ends. No other node is forked from it, and all slots stay ready. Without
# the C extension there is a warning instead, and the first mold stays.
require_relative "scenario"

SWARM = <<~RUBY
  Skep.swarm "canary", nodes: 3, refork_after: 30, log_level: :debug do |swarm|
    swarm.work do |node|
      node.ready!
      %<fault>s if node.mold.positive?
      until node.stopping?
        node.processed
        node.wait(0.005)
      end
    end
  end
RUBY

FAULTS = { 'ballast = "x" * (64 << 20)' => /its first node takes \d+\.\d MiB, those before \d/,
           'node.unhealthy!("no database")' => /its first node isn't well: no database/ }.freeze

Scenario.play do
  FAULTS.each do |fault, reason|
    swarm = run_swarm(format(SWARM, fault:))
    next must_ignore_refork_after(swarm) unless Skep::OS.native?

    failed = swarm.await("refork_failed")
    must("publish the reason: #{failed}") { failed["error"].match?(reason) }
    swarm.await("mold_died") { |event| event["mold"] == 1 }
    nodes = swarm.status("canary")["nodes"]
    must("keep all nodes on the first mold: #{nodes}") do
      nodes.map { |node| node.values_at("state", "mold") } == [["ready", 0]] * 3
    end
    must("keep three nodes ready: #{swarm.least_ready(3)}") { swarm.least_ready(3) == 3 }
    forked = swarm.events.select { |event| event["event"] == "node_forked" && event["mold"] == 1 }
    must("fork only the canary from it: #{forked}") { forked.size == 1 }
    must("stop with 0") { swarm.stop.exitstatus == 0 }
  end
end
