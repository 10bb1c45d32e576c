# frozen_string_literal: true

# A node that is stuck in Ruby, in C with Ruby's lock held, in a deadlock, or stopped: each is found
# to be hung, told of with what it was doing, ended and replaced; its neighbour isn't touched.
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
  must("find all that are stuck, and no other: #{hung.keys}") { hung.keys.sort == [0, 1, 2, 3] }
  must("tell what they had in hand") do
    hung.all? { |node, event| event["in_flight"] == ["job #{node}"] }
  end
  must("tell where in Ruby") do
    [["swarm.rb", 0], ["synchronize", 2]].all? do |place, node|
      told = hung[node]
      told["threads"] or # it was slow to answer
        told = swarm.await("node_backtraces") { |event| event["node"] == node }
      main = told["threads"].find { |thread| thread["name"] == "main" }
      main["backtrace"].first(2).join.include?(place)
    end
  end
  must("tell where in the kernel, of one that can't answer") do
    hung[1]["threads"].nil? && hung[1]["tasks"].first["syscall"] == "futex"
  end
  must("call a stopped one stopped") { hung[3]["state"] == "stopped" && !hung[3]["threads"] }

  died = swarm.await(GONE, times: 4)
  must("end them for that: #{died}") { died.all? { |event| event["reason"] == "hung" } }
  swarm.await("node_ready", times: 9)
  nodes = swarm.status("stuck")["nodes"]
  must("leave their neighbour alone") { nodes[4]["restarts"].zero? && !nodes[4]["last_hang"] }
  must("remember the last hang of each: #{nodes[0]["last_hang"]}") do
    nodes.first(4).all? do |node|
      node["last_hang"].values_at("reason", "in_flight") == ["hung", ["job #{node["id"]}"]]
    end
  end
  seconds = died.map do |event|
    told = hung[event["node"]]
    (event["mono"] - told["mono"] + told["beat_age"]).round(3)
  end
  puts "seconds from the last beat to the end, of 1 + 10: #{seconds}"
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
