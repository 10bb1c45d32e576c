# frozen_string_literal: true

# Four works in one swarm, each with limits of its own. One leaks: its node is replaced at its own
# memory_limit, and a larger node of another work stays. One hangs at the swarm's liveness_timeout;
# one that has none makes no progress for as long, and stays. At a stop each node is killed at the
# stop_timeout of its work. Events name the work.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "shop", nodes: 1, memory_limit: "1G", liveness_timeout: 5, stop_timeout: 600 do |swarm|
    swarm.work("leaky", memory_limit: "60M", liveness_timeout: 300) do |node|
      node.ready!
      leak = []
      until node.stopping?
        leak << ("y" * (1 << 20))
        node.wait(0.05)
      end
    end

    swarm.work("large", liveness_timeout: 300, stop_timeout: 1) do |node|
      held = "x" * (120 << 20)
      node.ready!
      node.wait until node.stopping?
      IO.select(nil) # ignores the stop
      held.size
    end

    swarm.work("stuck") do |node|
      node.ready!
      path = "\#{__dir__}/has_hung"
      unless File.exist?(path)
        File.write(path, "")
        IO.select(nil)
      end
      node.wait until node.stopping?
    end

    swarm.work("silent", liveness_timeout: nil) do |node|
      node.ready!
      File.read("\#{__dir__}/finish") # waits for a writer, and makes no progress
    end
  end
RUBY

def node_of(swarm, work)
  swarm.status("shop")["nodes"].find { |node| node["work_name"] == work }
end

Scenario.play do
  swarm = run_swarm(SOURCE, prepare: ->(directory) { File.mkfifo("#{directory}/finish") })
  swarm.await("node_ready", times: 4)

  over = swarm.await("node_over_limit")
  must("replace the node that leaks at its own limit: #{over}") do
    over.values_at("work", "limit") == ["leaky", 60 << 20]
  end
  hung = swarm.await("node_hung")
  must("find the node that hangs: #{hung}") { hung["work"] == "stuck" }
  swarm.await("node_ready") { |event| event["work"] == "stuck" }
  swarm.await(GONE) { |event| event["work"] == "leaky" }
  large = node_of(swarm, "large")
  must("keep the large node, whose limit is the swarm's: #{large}") do
    large["restarts"].zero? && large["memory"]["rss"] > 60 << 20
  end
  silent = node_of(swarm, "silent")
  must("keep the node that needs no progress: #{silent}") do
    silent["restarts"].zero? && silent["state"] == "ready"
  end

  swarm.signal(:TERM)
  killed = swarm.await("node_died") { |event| event["reason"] == "stop_timeout" }
  must("kill the node whose own stop_timeout is over: #{killed}") { killed["work"] == "large" }
  must("wait for the other, whose work isn't done: #{swarm.account}") do
    swarm.events.none? { |event| GONE.include?(event["event"]) && event["work"] == "silent" }
  end
  File.write("#{swarm.directory}/finish", "done")
  ended = swarm.await("node_exited") { |event| event["work"] == "silent" }
  must("let it end on its own: #{ended}") { ended.values_at("exit_status", "reason") == [0, nil] }
  must("end with 2, as a node was killed") { swarm.wait.exitstatus == 2 }
end
