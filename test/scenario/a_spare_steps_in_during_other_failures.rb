# frozen_string_literal: true

# A spare steps in while the mold is stopped, and for a node that has executed another program. A
# stopped spare in a slot is found hung, and replaced. Spares end when their supervisor dies.
require_relative "scenario"

GONE_OR_MOLD = %w[node_died node_exited mold_died].freeze

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
  swarm.follow("the spare has the slot, with a stopped mold") do
    File.read("/proc/#{spare}/cmdline").include?("node 1")
  end
  must("publish it") { swarm.await("spare_stepped_in")["pid"] == spare }
  swarm.await("spare_ready")
  must("record the death before it ends the stopped mold") do
    ends = swarm.events.map { |event| event["event"] } & GONE_OR_MOLD
    ends == %w[node_died mold_died]
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end

Scenario.play do
  swarm = spared("kill_timeout: 1", work: <<~'WORK')
    node.wait(0.2)
    exec("sleep", "1000") if node.id == 0 && Dir.mkdir("#{__dir__}/once") == 0 rescue Errno::EEXIST
  WORK
  nodes, spare = booted(swarm)
  died = swarm.await(GONE)
  must("kill the process that is no node any more: #{died}") do
    died.values_at("pid", "signal", "reason") == [nodes[0], "KILL", "channel_closed"]
  end
  must("let the spare step in") { swarm.await("spare_stepped_in")["pid"] == spare }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end

Scenario.play do
  swarm = spared("liveness_timeout: 2, kill_timeout: 1")
  nodes, spare = booted(swarm)
  swarm.kill(spare, :STOP)
  swarm.kill(nodes[0])
  must("kill the stopped spare in its new slot as hung") do
    swarm.await(GONE) { |event| event["pid"] == spare }.values_at("node", "reason") == [0, "hung"]
  end
  must("put another process into the slot") do
    swarm.await("node_ready") { |event| event["node"].zero? }["pid"] != spare
  end
  must("publish no spare_stepped_in for the stopped spare") do
    swarm.events.none? { |event| event["event"] == "spare_stepped_in" && event["pid"] == spare }
  end
  swarm.await("spare_ready")
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end

Scenario.play do
  swarm = spared("orphan_timeout: 1")
  nodes, spare = booted(swarm)
  swarm.kill(swarm.pid)
  await_exit([*nodes.values, spare])
end
