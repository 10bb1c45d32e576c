# frozen_string_literal: true

# A mold has one process forked ahead, which becomes the node that follows one that died. Whatever
# is done to it before (killed, stopped, told to end), deaths are answered; it goes with its mold.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "blank", nodes: 3, max_restarts: 1_000_000, boot_timeout: 5 do |swarm|
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

# The pid of the next to be ready after some node's death.
def after_death(swarm)
  swarm.kill(swarm.status("blank")["nodes"].first["pid"])
  swarm.await("node_ready")["pid"]
end

Scenario.play do
  swarm = run_swarm(SOURCE)
  mold = swarm.await("mold_ready")["pid"]
  swarm.await("node_ready", times: 3)

  8.times do
    ahead = preforked(swarm, mold)
    must("become the next node") { after_death(swarm) == ahead }
  end

  %i[KILL TERM INT QUIT].each do |signal|
    ahead = preforked(swarm, mold)
    swarm.kill(ahead, signal)
    swarm.follow("the end of it") { forked_ahead(mold).empty? }
    must("fork another after #{signal}") { after_death(swarm) != ahead }
  end

  ahead = preforked(swarm, mold)
  swarm.kill(ahead, :STOP)
  must("not wait for one that is stopped") { after_death(swarm) != ahead }
  must("have ended it") { swarm.await(GONE) { |event| event["pid"] == ahead } }

  preforked(swarm, mold)
  all = swarm.status("blank")["nodes"].map { |node| node["pid"] }
  all.each { |pid| swarm.kill(pid) }
  swarm.await("node_ready", times: 3)

  ahead = preforked(swarm, mold)
  swarm.kill(mold)
  must("end with its mold") { gone([ahead]) }
  preforked(swarm, mold = swarm.await("mold_ready")["pid"]) if after_death(swarm)
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  must("leave none") { forked_ahead(mold).empty? }
end
