# frozen_string_literal: true

# Nodes are stuck in Ruby, in C with the GVL held, in a deadlock, or stopped. Each is found hung,
# logged with its item in flight, killed and replaced. The fifth node isn't affected.
require_relative "scenario"

SOURCE = HANG + <<~RUBY
  DEADLOCK = lambda do
    one, two = Mutex.new, Mutex.new
    held, go = Queue.new, Queue.new
    thread = Thread.new { two.synchronize { held << 1; go.pop; one.synchronize { } } }
    one.synchronize { held.pop; go << 1; two.synchronize { } }
  end

  Skep.swarm "stuck", nodes: 5, liveness_timeout: 1, kill_timeout: 10, max_restarts: 100 do |swarm|
    swarm.work do |node|
      again = File.exist?("\#{__dir__}/again\#{node.id}")
      File.write("\#{__dir__}/again\#{node.id}", "")
      node.ready!
      node.wait(0.1)
      node.in_flight("job \#{node.id}")
      case again || node.id
      when 0 then loop { }
      when 1 then hang
      when 2 then DEADLOCK.call
      when 3 then Process.kill(:STOP, Process.pid)
      end
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  hung = swarm.await("node_hung", times: 4).to_h { |event| [event["node"], event] }
  must("find all stuck nodes, and no other: #{hung.keys}") { hung.keys.sort == [0, 1, 2, 3] }
  must("publish the items in flight") do
    hung.all? { |node, event| event["in_flight"] == ["job #{node}"] }
  end
  must("publish the backtraces of nodes that answer") do
    [["swarm.rb", 0], ["synchronize", 2]].all? do |place, node|
      report = hung[node]
      report["threads"] or # it answered late
        report = swarm.await("node_backtraces") { |event| event["node"] == node }
      main = report["threads"].find { |thread| thread["name"] == "main" }
      main["backtrace"].first(2).join.include?(place)
    end
  end
  must("publish the system call of a node that can't answer") do
    hung[1]["threads"].nil? && hung[1]["tasks"].first["syscall"] == "futex"
  end
  must("report a stopped node as stopped") { hung[3]["state"] == "stopped" && !hung[3]["threads"] }

  died = swarm.await(GONE, times: 4)
  must("kill them with reason hung: #{died}") { died.all? { |event| event["reason"] == "hung" } }
  swarm.await("node_ready", times: 9)
  nodes = swarm.status("stuck")["nodes"]
  must("leave the fifth node alone") { nodes[4]["restarts"].zero? && !nodes[4]["last_hang"] }
  must("show the last hang of each node: #{nodes[0]["last_hang"]}") do
    nodes.first(4).all? do |node|
      node["last_hang"].values_at("reason", "in_flight") == ["hung", ["job #{node["id"]}"]]
    end
  end
  seconds = died.map do |event|
    report = hung[event["node"]]
    (event["mono"] - report["mono"] + report["beat_age"]).round(3)
  end
  puts "seconds from the last beat to the end, of 1 + 10: #{seconds}"
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
