# frozen_string_literal: true

# Nodes close all their descriptors, execute another program, leave a process with their channel
# open, or double-fork a daemon. Each of them is replaced. A node with an open channel continues,
# and a stop ends all processes; without the C extension, all but the daemon.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~'RUBY')
    Skep.swarm "odd", nodes: 6, max_restarts: 1_000_000, kill_timeout: 1 do |swarm|
      swarm.work do |node|
        mark = "#{__dir__}/done#{node.id}"
        first = !File.exist?(mark)
        File.write(mark, "")
        node.ready!
        node.wait(0.1)
        case first && node.id
        when 0 then Dir.children("/proc/self/fd").each { |fd| IO.for_fd(fd.to_i).close rescue nil }
        when 1 then ObjectSpace.each_object(IO) { |io| io.close unless io.closed? }
        when 2 then exec("sleep", "1000")
        when 3 then fork { exec("sleep", "1001", close_others: false) } && exit!(9)
        when 4 then Process.wait(fork { Process.setsid; fork { exec("sleep", "1002") } }) && exit!(9)
        end
        node.wait until node.stopping?
      end
    end
  RUBY
  mold = swarm.await("mold_ready")["pid"]
  sixth = swarm.await("node_ready") { |event| event["node"] == 5 }["pid"]
  died = swarm.await(GONE, times: 5).to_h { |event| [event["node"], event] }
  must("replace the five nodes: #{died.keys}") { died.keys.sort == [0, 1, 2, 3, 4] }
  must("kill the node with the closed channel: #{died[2]}") do
    died[2].values_at("signal", "reason") == %w[KILL channel_closed]
  end
  must("publish the exit status of the others: #{died[3]}, #{died[4]}") do
    [died[3], died[4]].all? { |event| event["exit_status"] == 9 }
  end
  swarm.await("node_ready", times: 10)
  nodes = swarm.status("odd")["nodes"]
  must("leave the sixth node alone") { nodes[5]["pid"] == sixth }

  no_zombie(swarm, [swarm.pid, mold])
  unless Skep::OS.native?
    daemon = started_by(swarm).find { |pid| command_line(pid).include?("1002") }
    Process.kill(:KILL, daemon)
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  nothing_left(swarm)
end
