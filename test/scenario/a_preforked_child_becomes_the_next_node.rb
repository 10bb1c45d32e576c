# frozen_string_literal: true

# A mold keeps one preforked child, which becomes the next node when a node dies. If the child was
# killed or stopped before, the mold forks another process. The child ends with its mold.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "blank", nodes: 3, max_restarts: 1_000_000, boot_timeout: 5 do |swarm|
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

# Kills a node; returns the pid of the next node that is ready.
def after_death(swarm)
  swarm.kill(swarm.status("blank")["nodes"].first["pid"])
  swarm.await("node_ready")["pid"]
end

Scenario.play do
  swarm = run_swarm(SOURCE)
  mold = swarm.await("mold_ready")["pid"]
  swarm.await("node_ready", times: 3)

  8.times do
    child = preforked(swarm, mold)
    must("make the preforked child the next node") { after_death(swarm) == child }
  end

  %i[KILL TERM INT QUIT].each do |signal|
    child = preforked(swarm, mold)
    swarm.kill(child, signal)
    swarm.follow("the preforked child ends") { forked_ahead(mold).empty? }
    must("fork another child after #{signal}") { after_death(swarm) != child }
  end

  child = preforked(swarm, mold)
  swarm.kill(child, :STOP)
  must("not wait for a stopped child") { after_death(swarm) != child }
  must("end the stopped child") { swarm.await(GONE) { |event| event["pid"] == child } }

  preforked(swarm, mold)
  all = swarm.status("blank")["nodes"].map { |node| node["pid"] }
  all.each { |pid| swarm.kill(pid) }
  swarm.await("node_ready", times: 3)

  child = preforked(swarm, mold)
  swarm.kill(mold)
  must("end the child with its mold") { await_exit([child]) }
  preforked(swarm, mold = swarm.await("mold_ready")["pid"]) if after_death(swarm)
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  must("leave no preforked child") { forked_ahead(mold).empty? }
end
