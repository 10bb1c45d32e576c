# frozen_string_literal: true

# A node that raises Skep::BootError is started again without limit: that is no crash. The slot's
# next node follows the restart policy again, although no node of the slot has been ready meanwhile,
# and the refusals before don't count as crashes.
require_relative "scenario"

class Refusals < Scenario
  # Node 0 refuses to begin, then does what the file `mode` says.
  def refuse_then(mode, options, refusals: 1)
    swarm = run_swarm(<<~RUBY)
      Skep.swarm "loop", nodes: 2, #{options} do |swarm|
        swarm.work do |node|
          mode = "\#{__dir__}/mode"
          mode = node.id.zero? && File.exist?(mode) ? File.read(mode) : ""
          raise Skep::BootError, "no database" if mode == "refuse"
          exit!(Integer(mode)) unless mode.empty?
          node.ready!
          node.wait until node.stopping?
        end
      end
    RUBY
    swarm.await("node_ready", times: 2)
    say(swarm, "refuse")
    swarm.kill(swarm.status("loop")["nodes"].first["pid"])
    swarm.await("node_waiting", times: refusals)
    say(swarm, mode)
    swarm
  end

  def say(swarm, mode)
    path = File.join(swarm.directory, "mode")
    File.write("#{path}.new", mode)
    File.rename("#{path}.new", path)
  end

  def finishes(mode, options)
    swarm = refuse_then(mode, options)
    finished = swarm.await("node_finished")
    must("finish node 0: #{finished}") { finished["node"].zero? }
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  end
end

Refusals.play do
  finishes("7", "never_restart_on: [7]")
  finishes("0", "restart: :on_failure")

  swarm = refuse_then("7", "max_restarts: 2, on_crash_loop: :stop")
  loop = swarm.await("crash_loop")
  must("count three crashes: #{loop}") { loop["deaths"] == 3 }
  must("give up with 4") { swarm.wait.exitstatus == 4 }

  swarm = refuse_then("", "max_restarts: 1, on_crash_loop: :stop", refusals: 2)
  pid = swarm.await("node_ready")["pid"]
  say(swarm, "7")
  swarm.kill(pid)
  loop = swarm.await("crash_loop")
  must("count two crashes: #{loop}") { loop["deaths"] == 2 }
  must("give up with 4") { swarm.wait.exitstatus == 4 }
end
