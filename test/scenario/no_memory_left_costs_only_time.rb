# frozen_string_literal: true

# ENOMEM in the mold (RLIMIT_AS): what it can't fork, or can't live, is told and tried again; should
# it die of that, another mold is started. What runs goes on, and the swarm is whole again.
require_relative "scenario"

# Waits until all nodes are ready, that one's successor too: their pids.
def all_ready(swarm, dead)
  pids = {}
  swarm.follow("all are ready again") do
    nodes = swarm.status("idle")["nodes"]
    pids = nodes.to_h { |node| [node["id"], node["pid"]] }
    nodes.all? { |node| node["state"] == "ready" } && !pids.value?(dead)
  end
  pids
end

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "idle", nodes: 3, max_restarts: 1_000_000, boot_timeout: 3 do |swarm|
      swarm.on_boot { "x" * (64 << 20) }
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  mold = swarm.await("mold_ready")["pid"]
  nodes = swarm.await("node_ready", times: 3).to_h { |event| [event["node"], event["pid"]] }
  used = File.read("/proc/#{mold}/statm").to_i * 4096
  [used + (1 << 20), used, used / 2].each do |most|
    mold = swarm.events.select { |event| event["event"] == "mold_ready" }.last["pid"]
    spend_preforked(swarm, mold)
    before = limit(mold, "as", most)
    swarm.kill(nodes[0])
    swarm.await(GONE) { |event| event["pid"] == nodes[0] }
    seen = swarm.events.size
    swarm.follow("failures with #{most} bytes") do
      failed = swarm.events[seen..].map { |event| event["event"] }
      failed.count { |name| %w[node_died fork_failed].include?(name) } > 2 ||
        failed.include?("mold_died")
    end
    begin
      limit(mold, "as", before)
    rescue Scenario::Failed, Errno::ENOENT # it has died of it
      swarm.await("mold_ready") { |event| event["pid"] != mold }
    end
    now = all_ready(swarm, nodes[0])
    must("leave the others alone") { now.values_at(1, 2) == nodes.values_at(1, 2) }
    swarm.kill(now[0]) # who was forked ahead without memory has no successor until one is wanted
    nodes = all_ready(swarm, now[0])
  end
  # A Ruby 3.3 that can't get a thread for want of memory never comes to its exit by itself.
  causes = swarm.events.flat_map { |event| event.values_at("error", "reason") }.compact.uniq
  must("say why: #{causes}") { causes.join.match?(/NoMemoryError|boot_timeout/) }
  no_zombie(swarm, [swarm.pid])
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
