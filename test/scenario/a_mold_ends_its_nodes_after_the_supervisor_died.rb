# frozen_string_literal: true

# The supervisor is killed, and three nodes don't react: one has executed another program, one
# ignores SIGCONT and is stuck, one is killed at the same moment and leaves a child. Their mold ends
# the nodes and what they have started, then exits.
require_relative "scenario"

SOURCE = HANG + <<~'RUBY'
  Skep.swarm "orphans", nodes: 4, orphan_timeout: 1, liveness_timeout: 1_000 do |swarm|
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
  swarm.follow("node 0 executes another program") do
    command_line(here.find { |event| event["node"].zero? }["pid"]).start_with?("sleep")
  end
  last = here.find { |event| event["node"] == 3 }["pid"]
  # Nothing resumes a stopped mold without the C extension.
  [*(mold if Skep::OS.native?), last].each { |pid| swarm.kill(pid, :STOP) }
  swarm.kill(last) # a stopped mold reaps it after the supervisor has died
  swarm.signal(:KILL)
  await_exit([mold, *here.flat_map { |event| event.values_at("pid", "started") }])
end
