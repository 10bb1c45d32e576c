# frozen_string_literal: true

# A node that hangs in an at_exit hook is killed at stop_timeout, whether the swarm stops or the
# node's work has returned. The log has a backtrace of the hook.
require_relative "scenario"

Scenario.play do
  source = <<~'RUBY'
    Skep.swarm "hook", nodes: 1, stop_timeout: STOP, liveness_timeout: 1, kill_timeout: 0.5,
                       max_restarts: 1_000_000 do |swarm|
      swarm.on_boot { |node| at_exit { IO.select(nil) } }
      swarm.work do |node|
        node.ready!
        node.event(:here)
        node.wait until node.stopping? || File.exist?("#{__dir__}/return")
      end
    end
  RUBY

  swarm = run_swarm(source.sub("STOP", "2"))
  swarm.await("node_ready")
  status = swarm.stop
  main = swarm.await("node_backtraces")["threads"].find { |thread| thread["name"] == "main" }
  must("log the backtrace of the hook: #{main}") { main["backtrace"].any?(/\bselect\b/) }
  died = swarm.await(GONE)
  must("kill the node at stop_timeout: #{died}, #{status}") do
    died.values_at("signal", "reason") == %w[KILL stop_timeout] && status.exitstatus == 2
  end

  swarm = run_swarm(source.sub("STOP", "2"))
  File.write("#{swarm.directory}/return", "")
  first = swarm.await("here")["pid"]
  swarm.await("node_backtraces") { |event| event["pid"] == first }
  died = swarm.await(GONE)
  must("kill a node whose work has returned: #{died}") do
    died.values_at("pid", "signal", "reason") == [first, "KILL", "stop_timeout"]
  end
  File.unlink("#{swarm.directory}/return")
  swarm.await("here")
  swarm.signal(:QUIT)
  must("end at once on QUIT") { swarm.wait.exitstatus == 2 }
end
