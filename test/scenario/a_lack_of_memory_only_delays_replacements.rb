# frozen_string_literal: true

# The mold gets ENOMEM (RLIMIT_AS): failed forks and failed boots are reported and retried. If the
# mold dies, another one is started. Running nodes continue, and all nodes are ready at the end.
require_relative "scenario"

# Waits until all nodes are ready, the dead one's successor too; returns their pids.
def all_ready(swarm, dead)
  pids = {}
  swarm.follow("all are ready again") do
    nodes = swarm.status("idle")["nodes"]
    pids = nodes.to_h { |node| [node["id"], node["pid"]] }
    nodes.all? { |node| node["state"] == "ready" } && !pids.value?(dead)
  end
  pids
end

# Waits until the mold has forked a process ahead. One that it forked under the limit may hang: it
# is killed after ten seconds, and no other is forked ahead until a node is needed. Returns pids.
def one_ahead(swarm, mold, nodes)
  stuck = lambda do
    names = swarm.events.map { |event| event["event"] }
    names.rindex("preforked_stuck").to_i > names.rindex("node_forked")
  end
  swarm.follow("a process forked ahead") { forked_ahead(mold).any? || stuck.call }
  return nodes if forked_ahead(mold).any?

  swarm.kill(nodes[0])
  one_ahead(swarm, mold, all_ready(swarm, nodes[0]))
end

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "idle", nodes: 3, max_restarts: 1_000_000, boot_timeout: #{Patience.of(3)} do |swarm|
      swarm.on_boot { "x" * (64 << 20) }
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  mold = swarm.await("mold_ready")["pid"]
  nodes = swarm.await("node_ready", times: 3).to_h { |event| [event["node"], event["pid"]] }
  used = File.read("/proc/#{mold}/statm").to_i * 4096
  [used + (1 << 20), used, used / 2].each do |most|
    mold = swarm.events.select { |event| event["event"] == "mold_ready" }.last["pid"]
    nodes = one_ahead(swarm, mold, nodes)
    kill_preforked(swarm, mold)
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
    rescue Scenario::Failed, Errno::ENOENT # the mold has died
      swarm.await("mold_ready") { |event| event["pid"] != mold }
    end
    now = all_ready(swarm, nodes[0])
    must("keep the other nodes") { now.values_at(1, 2) == nodes.values_at(1, 2) }
    swarm.kill(now[0]) # one is forked ahead again only with the next node
    nodes = all_ready(swarm, now[0])
  end
  # Ruby 3.3 that can't create a thread without memory never exits.
  causes = swarm.events.flat_map { |event| event.values_at("error", "reason") }.compact.uniq
  must("report the cause: #{causes}") { causes.join.match?(/NoMemoryError|boot_timeout/) }
  no_zombie(swarm, [swarm.pid])
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
