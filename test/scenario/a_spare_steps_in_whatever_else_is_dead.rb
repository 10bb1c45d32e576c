# frozen_string_literal: true

# Spares beside what else goes wrong: while the mold is stopped, for a node that became another
# program, while the spare itself is stopped, and when their supervisor dies.
require_relative "scenario"

def spared(more = "", work: "")
  run_swarm(<<~RUBY)
    Skep.swarm "spared", nodes: 2, spares: 1, max_restarts: 1_000, #{more} do |swarm|
      swarm.work do |node|
        node.ready!
        #{work}
        node.wait until node.stopping?
      end
    end
  RUBY
end

def booted(swarm)
  [swarm.await("node_ready", times: 2).to_h { |event| [event["node"], event["pid"]] },
   swarm.await("spare_ready")["pid"]]
end

Scenario.play do
  swarm = spared("boot_timeout: 5")
  nodes, spare = booted(swarm)
  mold = swarm.await("mold_ready")["pid"]
  swarm.kill(mold, :STOP)
  swarm.kill(nodes[1])
  swarm.follow("the spare is at work, its mold stopped") do
    File.read("/proc/#{spare}/cmdline").include?("node 1")
  end
  must("say so") { swarm.await("spare_stepped_in")["pid"] == spare }
  swarm.await("spare_ready")
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end

Scenario.play do
  swarm = spared("kill_timeout: 1", work: <<~'WORK')
    node.wait(0.2)
    exec("sleep", "1000") if node.id == 0 && Dir.mkdir("#{__dir__}/once") == 0 rescue Errno::EEXIST
  WORK
  nodes, spare = booted(swarm)
  died = swarm.await(GONE)
  must("end what isn't a node any more: #{died}") do
    died.values_at("pid", "signal", "reason") == [nodes[0], "KILL", "channel_closed"]
  end
  must("have its spare in its place") { swarm.await("spare_stepped_in")["pid"] == spare }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end

Scenario.play do
  swarm = spared("liveness_timeout: 2, kill_timeout: 1")
  nodes, spare = booted(swarm)
  swarm.kill(spare, :STOP)
  swarm.kill(nodes[0])
  must("end the stopped spare in its new slot, as it is hung") do
    swarm.await(GONE) { |event| event["pid"] == spare }.values_at("node", "reason") == [0, "hung"]
  end
  must("have the next one in its place") do
    swarm.await("node_ready") { |event| event["node"].zero? }["pid"] != spare
  end
  must("not say that it stepped in") do
    swarm.events.none? { |event| event["event"] == "spare_stepped_in" && event["pid"] == spare }
  end
  swarm.await("spare_ready")
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end

Scenario.play do
  swarm = spared("orphan_timeout: 1")
  nodes, spare = booted(swarm)
  swarm.kill(swarm.pid)
  gone([*nodes.values, spare])
end
