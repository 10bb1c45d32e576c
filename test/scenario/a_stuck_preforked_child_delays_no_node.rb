# frozen_string_literal: true

# A mold forks one process ahead. If that hangs in a fork hook, or is stopped, it is killed within
# seconds, and the next node comes from another fork: its slot isn't empty until boot_timeout.
require_relative "scenario"

SOURCE = <<~'RUBY'
  Skep.on_fork(child: -> { IO.select(nil, nil, nil, 0.05) while File.exist?("#{__dir__}/hang") })
  Skep.swarm "ahead", nodes: 2, max_restarts: 1_000, boot_timeout: 240 do |swarm|
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  mold = swarm.await("mold_ready")["pid"]
  swarm.await("node_ready", times: 2)
  child = preforked(swarm, mold)

  # The next one hangs in the hook: it is killed before a node needs it.
  hang = "#{swarm.directory}/hang"
  File.write(hang, "")
  swarm.kill(swarm.status("ahead")["nodes"].first["pid"])
  must("make the child that waits the next node") { swarm.await("node_ready")["pid"] == child }
  stuck = swarm.await("preforked_stuck")
  must("report the child that hangs: #{stuck}") do
    stuck["level"] == "warn" && stuck["pid"] != child
  end
  await_exit([stuck["pid"]])
  File.delete(hang)
  swarm.kill(child)
  swarm.await("node_ready")

  # The child is stopped when a node needs it.
  child = preforked(swarm, mold)
  swarm.kill(child, :STOP)
  swarm.kill(swarm.status("ahead")["nodes"].first["pid"])
  must("report the stopped child") { swarm.await("preforked_stuck")["pid"] == child }
  swarm.await(GONE) { |one| one["pid"] == child }
  must("fork another") { swarm.await("node_ready")["pid"] != child }

  # A mold that is well reports none.
  preforked(swarm, mold)
  must("report no other: #{swarm.account}") do
    swarm.events.count { |one| one["event"] == "preforked_stuck" } == 2
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
