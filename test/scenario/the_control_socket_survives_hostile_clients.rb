# frozen_string_literal: true

# Clients of the control socket send garbage, parts of requests, 100 MB or nothing, connect by the
# thousand, and don't read. Killed nodes are still replaced, and valid requests are answered.
# Afterwards the supervisor has as many descriptors and as much memory as before. SECONDS=300 runs
# longer, SEED=n repeats a run.
require_relative "scenario"
require_relative "support/siege"

class Scenario
  # Kills nodes and requests the status during the siege. Returns counts, and how long both took.
  def withstand(swarm, seconds, seed)
    control = File.join(swarm.directory, "idle.sock")
    ends = Skep::OS.now + seconds
    siege = Siege.new(control, ends, seed:)
    status = Thread.new { request_status(control, ends) }
    times = { ready: [] }
    while Skep::OS.now < ends
      times[:ready] << timed { kill_one(swarm) }
      swarm.follow_for(0.05)
    end
    [siege.wait, { **times, status: status.value }]
  end

  # Retries, because the supervisor closes connections when there are too many.
  def request_status(control, ends)
    times = []
    while Skep::OS.now < ends
      begin
        times << timed { Skep::Control::Client.new(control).call("status").fetch("status") }
      rescue Skep::Control::Unreachable
        @refused = @refused.to_i + 1
      end
    end
    times
  end

  def timed
    began = Skep::OS.now
    yield
    Skep::OS.now - began
  end

  def kill_one(swarm)
    swarm.kill(@pids.shift)
    @pids << swarm.await("node_ready")["pid"]
  end

  def measure(swarm)
    { descriptors: Dir.children("/proc/#{swarm.pid}/fd").size,
      kilobytes: File.read("/proc/#{swarm.pid}/smaps_rollup")[/^Anonymous:\s+(\d+)/, 1].to_i }
  end

  def shown(times)
    times.map do |name, all|
      sorted = all.sort.map { |one| (one * 1000).round(1) }
      "#{name} #{all.size}: median #{sorted[all.size / 2]} ms, most #{sorted.last} ms"
    end.join("; ")
  end
end

Scenario.play do
  seconds = Float(ENV.fetch("SECONDS", "5"))
  seed = Integer(ENV.fetch("SEED", Random.new_seed % 10_000))
  swarm = run_swarm(IDLE)
  @pids = swarm.await("node_ready", times: 3).map { |event| event["pid"] }
  rested = measure(swarm)
  withstand(swarm, [seconds * 0.4, 60].min, seed) # its heap grows to what a siege needs
  swarm.follow("the first connections are closed") do
    measure(swarm)[:descriptors] <= rested[:descriptors]
  end
  before = measure(swarm)

  counts, times = withstand(swarm, seconds * 0.6, seed + 100)
  swarm.follow("no more descriptors than before: #{rested}") do
    measure(swarm)[:descriptors] <= rested[:descriptors]
  end
  after = measure(swarm)
  puts "seed #{seed}: #{rested} -> #{before} -> #{after}; #{counts}; #{shown(times)}; " \
       "#{@refused.to_i} requests repeated"
  must("answer valid requests") { times[:status].size > @refused.to_i }
  usual = [rested, before].map { |one| one[:kilobytes] }.max # the kernel may reclaim some meanwhile
  must("use no more memory than before") { after[:kilobytes] <= usual * 1.1 + 2048 }
  must("have had clients of each kind: #{counts}") do
    counts.size == 10 && counts.values.all?(&:positive?)
  end
  died = swarm.events.select { |event| GONE.include?(event["event"]) }
  must("lose no other node: #{died.size}") { died.all? { |event| event["signal"] == "KILL" } }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
