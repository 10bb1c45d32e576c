# frozen_string_literal: true

# SIGKILL to the supervisor, and nodes that don't hear of it by themselves: one that has been
# executed again, one that has taken SIGCONT for itself and is stuck, one that is killed in the same
# moment and leaves something behind. Their mold ends them, and goes last.
require_relative "scenario"

SOURCE = HANG + <<~'RUBY'
  Skep.swarm "deaf", nodes: 4, orphan_timeout: 1, liveness_timeout: 1_000 do |swarm|
    swarm.work do |node|
      started = spawn("sleep infinity", pgroup: Process.pid)
      node.ready!
      node.event(:here, started:)
      File.write("#{__dir__}/#{node.id}", "")
      case node.id
      when 0 then exec("sleep", "infinity")
      when 1
        Signal.trap("CONT", "IGNORE")
        hang
      else node.wait until node.stopping?
      end
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  here = swarm.await("here", times: 4)
  mold = swarm.await("mold_ready")["pid"]
  swarm.follow("one is executed again") do
    command_line(here.find { |event| event["node"].zero? }["pid"]).start_with?("sleep")
  end
  last = here.find { |event| event["node"] == 3 }["pid"]
  [mold, last].each { |pid| swarm.kill(pid, :STOP) }
  swarm.kill(last) # the mold, stopped, reaps it after the supervisor's end
  swarm.signal(:KILL)
  gone([mold, *here.flat_map { |event| event.values_at("pid", "started") }])
end
