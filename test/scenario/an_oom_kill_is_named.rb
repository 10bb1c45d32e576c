# frozen_string_literal: true

# In a control group that is too small the kernel kills the node that uses most memory. skep reports
# that death as an OOM kill, but not a kill by hand. Skipped if no control group can be created.
require_relative "scenario"
require_relative "support/small_group"

Scenario.play do
  group = SmallGroup.make(200 << 20) or missing "root and a memory cgroup"
  at_end { group.remove }
  swarm = run_swarm(<<~RUBY, before: group.enter)
    Skep.swarm "greedy", nodes: 2 do |swarm|
      swarm.work do |node|
        node.ready!
        first = !File.exist?("\#{__dir__}/eaten")
        if node.id.zero? && first
          File.write("\#{__dir__}/eaten", "")
          eaten = Array.new(100) { "y" * (4 << 20) }
        end
        node.wait until node.stopping?
      end
    end
  RUBY
  died = swarm.await(GONE)
  must("report the OOM kill as one: #{died}") do
    died["node"].zero? && died["signal"] == "KILL" && died["reason"] == "oom"
  end
  swarm.await("node_ready", times: 3)
  must("show the OOM kill in the status") do
    swarm.status("greedy")["nodes"][0]["last_exit"]["reason"] == "oom"
  end
  swarm.kill(swarm.status("greedy")["nodes"][1]["pid"])
  died = swarm.await(GONE)
  must("not report a kill by hand as an OOM kill: #{died}") do
    died["node"] == 1 && died["reason"].nil?
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
