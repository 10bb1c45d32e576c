# frozen_string_literal: true

# A process that the work forks has the default signal handlers: TERM ends it. on_stop hooks that
# are added late or take long don't delay a stop.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "forks", nodes: 1, stop_timeout: 10, orphan_timeout: 1 do |swarm|
      swarm.work do |node|
        pid = fork { IO.select(nil, nil, nil, 60) }
        Process.kill(:TERM, pid)
        node.event(:ended, signal: Process.wait2(pid).last.termsig)
        node.on_stop { IO.select(nil, nil, nil, 60) } # a slow hook
        node.ready!
        node.wait until node.stopping?
        node.on_stop { node.event(:late_hook) }
        node.event(:big, text: ["x" * 16_000] * 60)
        node.event(:last_event)
      end
    end
  RUBY
  must("let TERM end the forked process") { swarm.await("ended")["signal"] == 15 }
  swarm.await("node_ready")
  swarm.signal(:TERM)
  swarm.await("late_hook")
  swarm.await("last_event")
  must("stop with 0; #{swarm.account}") { swarm.wait.exitstatus == 0 }
end
