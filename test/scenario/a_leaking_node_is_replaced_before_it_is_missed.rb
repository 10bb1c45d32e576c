# frozen_string_literal: true

# A node that leaks is replaced when it is over its limit: its successor is ready before it is told
# to stop, so that there are never fewer nodes that work than there should be. What it shares with
# its mold doesn't count, though with it every node has more than the limit.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    BALLAST = "x" * (200 << 20)
    Skep.swarm "leaky", nodes: 2, memory_limit: "100M" do |swarm|
      swarm.work do |node|
        node.ready!
        leak = []
        until node.stopping?
          leak << ("y" * (1 << 20)) if node.id.zero?
          node.wait(0.08)
        end
      end
    end
  RUBY
  swarm.await("node_ready", times: 2)
  over = swarm.await("node_over_limit")
  must("know it by its own memory: #{over}") do
    over["node"].zero? && over["uss"].between?(100 << 20, 150 << 20) && over["limit"] == 100 << 20
  end
  died = swarm.await(GONE)
  must("stop it gracefully, and say why: #{died}") do
    died["exit_status"] == 0 && died["reason"] == "memory_limit"
  end
  swarm.await("node_replaced") { |event| event["reason"] == "memory_limit" }
  swarm.await(GONE) # and the next one

  working = 0
  least = swarm.events.filter_map do |event|
    working += 1 if event["event"] == "node_ready"
    working -= 1 if GONE.include?(event["event"])
    working if GONE.include?(event["event"])
  end.min
  must("never have fewer than two at work: #{least}; #{swarm.account}") { least >= 2 }
  nodes = swarm.status("leaky")["nodes"]
  must("leave the other alone: #{nodes}") do
    nodes[1]["restarts"].zero? && nodes[1]["memory"]["rss"] > 200 << 20 &&
      nodes[0]["last_exit"]["reason"] == "memory_limit"
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
