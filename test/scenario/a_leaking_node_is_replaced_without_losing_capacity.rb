# frozen_string_literal: true

# A node over its memory_limit is replaced. Its successor is ready before the node gets TERM, so the
# number of ready nodes never drops. Memory shared with the mold doesn't count, although with it
# every node exceeds the limit.
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
  must("count only private memory: #{over}") do
    over["node"].zero? && over["uss"].between?(100 << 20, 150 << 20) && over["limit"] == 100 << 20
  end
  died = swarm.await(GONE)
  must("stop it gracefully with reason memory_limit: #{died}") do
    died["exit_status"] == 0 && died["reason"] == "memory_limit"
  end
  swarm.await("node_replaced") { |event| event["reason"] == "memory_limit" }
  swarm.await(GONE) # its successor leaks, too

  ready = 0
  least = swarm.events.filter_map do |event|
    ready += 1 if event["event"] == "node_ready"
    ready -= 1 if GONE.include?(event["event"])
    ready if GONE.include?(event["event"])
  end.min
  must("never have fewer than two nodes ready: #{least}; #{swarm.account}") { least >= 2 }
  nodes = swarm.status("leaky")["nodes"]
  must("leave the other node alone: #{nodes}") do
    nodes[1]["restarts"].zero? && nodes[1]["memory"]["rss"] > 200 << 20 &&
      nodes[0]["last_exit"]["reason"] == "memory_limit"
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
