# frozen_string_literal: true

# A node of an idle swarm is killed a thousand times. Each time it is replaced. No zombie is left,
# and the supervisor has as many descriptors and as much anonymous memory as before: less than 4 KiB
# more for each kill. (KILLS=n sets the number.)
require_relative "scenario"
HEAP_STEP = 4096 # KiB: Ruby's heap grows in steps, at any time

Scenario.play do
  kills = Integer(ENV.fetch("KILLS", "1000"))
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "idle", nodes: 2, max_restarts: 1_000_000 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  measure = lambda do
    { descriptors: Dir.children("/proc/#{swarm.pid}/fd").size,
      anonymous_kb: File.read("/proc/#{swarm.pid}/smaps_rollup")[/^Anonymous:\s+(\d+)/, 1].to_i }
  end
  kill = lambda do |victim|
    swarm.kill(victim)
    swarm.await("node_ready") { |event| event["node"].zero? }["pid"]
  end

  pid = swarm.await("node_ready") { |event| event["node"].zero? }["pid"]
  [kills / 2, 500].min.times { pid = kill.call(pid) }
  before = measure.call
  kills.times { pid = kill.call(pid) }
  swarm.follow("it has no more descriptors than before: #{before}") do
    measure.call[:descriptors] <= before[:descriptors] # the last dead node may not be reaped yet
  end
  after = measure.call
  molds = swarm.events.filter_map { |event| event["pid"] if event["event"] == "mold_ready" }
  nodes = swarm.status("idle")["nodes"]

  puts "#{before} -> #{after}, restarts #{nodes[0]['restarts']}"
  # (With any death that no kill has caused.)
  deaths = swarm.events.select { |event| event["event"] == "node_died" && event["node"].zero? }
  others = deaths.reject { |event| event["signal"] == "KILL" }
  must("count every replacement, also of #{others}") do
    nodes[0]["restarts"] == deaths.size && deaths.size >= kills + [kills / 2, 500].min
  end
  must("use no more memory") do
    after[:anonymous_kb] <= (before[:anonymous_kb] * 1.05) + HEAP_STEP
  end
  no_zombie(swarm, [swarm.pid, *molds])
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
