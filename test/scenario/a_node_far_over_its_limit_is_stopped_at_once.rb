# frozen_string_literal: true

# A node that continues to grow while its successor boots gets TERM at 1.5 times its memory_limit,
# even if the successor isn't ready. A node that doesn't react to TERM is killed after kill_timeout.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "greedy", nodes: 2, memory_limit: "60M", kill_timeout: 1 do |swarm|
      swarm.on_boot do |node|
        predecessor = "\#{__dir__}/\#{node.id}"
        FIRST = !File.exist?(predecessor)
        File.write(predecessor, Process.pid.to_s) if FIRST
        # The boot takes until the predecessor has ended.
        node.wait(0.05) while !FIRST && File.exist?("/proc/\#{File.read(predecessor)}")
      end
      swarm.work do |node|
        node.ready!
        node.wait(0.5)
        own = []
        while FIRST && own.size < 100 && !node.stopping?
          own << ("y" * (2 << 20))
          node.wait(0.1) if node.id.zero?
        end
        loop { } if FIRST && node.id == 1 # ignores TERM
        node.wait until node.stopping?
      end
    end
  RUBY
  swarm.await("node_ready", times: 2)
  dead = swarm.await(GONE, times: 2).to_h { |event| [event["node"], event] }
  over = swarm.events.select { |event| event["event"] == "node_over_limit" }
  must("first boot a successor, then stop it at once: #{over}") do
    over.select { |event| event["node"].zero? }.map { |event| event["at_once"] } == [false, true]
  end
  must("let the node exit that reacts to TERM: #{dead[0]}") do
    dead[0]["exit_status"].zero? && dead[0]["reason"] == "memory_limit"
  end
  must("kill the node that doesn't react: #{dead[1]}") do
    dead[1]["signal"] == "KILL" && dead[1]["reason"] == "memory_limit"
  end
  swarm.await("node_ready", times: 2)
  must("count no crash") { swarm.events.none? { |one| one["event"] == "node_waiting" } }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
