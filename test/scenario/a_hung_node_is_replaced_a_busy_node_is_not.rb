# frozen_string_literal: true

# A node that is stuck in Ruby or stopped is logged with its backtraces, killed and replaced. A node
# that waits, or that is within `busy`, is left alone.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "silent", nodes: 4, liveness_timeout: 1, kill_timeout: 10, max_restarts: 100 do |swarm|
      swarm.work do |node|
        stuck = File.exist?("\#{__dir__}/once") ? nil : node.id
        node.ready!
        node.wait(0.1)
        loop { } if stuck == 0
        node.busy(for: 60) { IO.select(nil, nil, nil, 2.5) } if stuck == 1
        node.wait until node.stopping?
      end
    end
  RUBY
  pids = swarm.await("node_ready", times: 4).to_h { |event| [event["node"], event["pid"]] }
  File.write("#{swarm.directory}/once", "")
  swarm.kill(pids[2], :STOP)

  hung = swarm.await("node_hung", times: 2)
  must("find the stuck and the stopped node: #{hung}") do
    hung.map { |event| event["node"] }.sort == [0, 2]
  end
  stuck = hung.find { |event| event["node"].zero? }
  stuck["threads"] or # it answered late
    stuck = swarm.await("node_backtraces") { |event| event["node"].zero? }
  must("log where the node is stuck: #{stuck}") do
    stuck["threads"].any? { |thread| thread["backtrace"].join.include?("swarm.rb:6") }
  end
  died = swarm.await(GONE, times: 2)
  must("kill both with reason hung: #{died}") do
    died.all? { |event| event["reason"] == "hung" && event["signal"] == "KILL" }
  end
  swarm.await("node_ready", times: 2)
  swarm.follow("two more liveness timeouts pass") { swarm.status("silent")["uptime"] > 5 }
  must("leave the waiting and the busy node alone") do
    swarm.status("silent")["nodes"].map { |node| node["restarts"] } == [1, 0, 1, 0]
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
