# frozen_string_literal: true

# The supervisor is stopped for several liveness_timeouts, alone or with all its nodes as in a
# paused container, and resumed. It considers no node hung that waits, works or is within `busy`. A
# node that hangs afterwards is still found. A mold that had not reported a node's exit before the
# pause isn't killed.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "sleepy", nodes: 4, liveness_timeout: 1, kill_timeout: 1, max_restarts: 100 do |swarm|
    swarm.work do |node|
      node.ready!
      case node.id
      when 0 then node.wait until node.stopping?
      when 1 # items of half a timeout
        until node.stopping?
          IO.select(nil, nil, nil, 0.5)
          node.beat
        end
      when 2 then node.busy(for: 6) { node.on_stop { exit! }; IO.select(nil, nil, nil, 3600) }
      when 3
        node.wait(0.1) until node.stopping? || File.exist?("\#{__dir__}/hang")
        loop { } unless node.stopping? || File.exist?("\#{__dir__}/hung")
      end
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  nodes = swarm.await("node_ready", times: 4).to_h { |event| [event["node"], event["pid"]] }
  mold = swarm.await("mold_ready")["pid"]
  pause = lambda do |pids|
    pids.each { |pid| swarm.kill(pid, :STOP) }
    swarm.follow_for(3)
    pids.reverse_each { |pid| swarm.kill(pid, :CONT) }
    swarm.await("supervisor_late") { |late| late["duration"] > 1 }
    swarm.follow_for(0.9) # long enough to find an overdue node
  end
  pause.call([swarm.pid])
  pause.call([swarm.pid, mold, *nodes.values])
  hung = swarm.events.select { |event| %w[node_hung mold_hung].include?(event["event"]) }
  must("kill no process: #{hung}") { hung.empty? }

  File.write("#{swarm.directory}/hang", "")
  hung = swarm.await("node_hung") { |event| event["node"] == 3 }
  File.write("#{swarm.directory}/hung", "")
  must("still find the stuck node: #{hung}") { hung["pid"] == nodes[3] }
  swarm.await(GONE) { |event| event["node"] == 3 }
  swarm.stop(:QUIT)

  swarm = run_swarm(IDLE)
  node = swarm.await("node_ready", times: 3).first["pid"]
  mold = swarm.await("mold_ready")["pid"]
  swarm.kill(mold, :STOP)
  swarm.kill(node)
  swarm.follow_for(0.5) # the supervisor knows of the exit, and waits for the mold's report
  swarm.kill(swarm.pid, :STOP)
  swarm.follow_for(3)
  swarm.kill(swarm.pid, :CONT)
  swarm.follow_for(0.3)
  swarm.kill(mold, :CONT)
  died = swarm.await(GONE)
  must("receive the exit from the mold: #{died}") do
    died.values_at("pid", "signal") == [node, "KILL"]
  end
  swarm.await("node_ready")
  must("keep the mold") { swarm.events.none? { |event| event["event"] == "mold_died" } }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
