# frozen_string_literal: true

# Clients of the control socket send garbage, parts of requests, 100 MB, nothing, come by the
# thousand, and don't read: nodes that are killed meanwhile are replaced as ever, who asks properly
# is answered, and when they have gone the supervisor has as many descriptors and as much memory as
# before. (SECONDS=300 and SEED=n for more of it.)
require_relative "scenario"
require_relative "support/siege"

class Scenario
  # While the siege lasts nodes are killed and the status is asked for. How long it took.
  def withstand(swarm, seconds, seed)
    control = File.join(swarm.directory, "idle.sock")
    ends = Skep::OS.now + seconds
    siege = Siege.new(control, ends, seed:)
    asker = Thread.new { asked(control, ends) }
    times = { ready: [] }
    while Skep::OS.now < ends
      times[:ready] << timed { kill_one(swarm) }
      swarm.follow_for(0.05)
    end
    [siege.wait, { **times, status: asker.value }]
  end

  # As a person would: again, where they had to make room for others.
  def asked(control, ends)
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
  withstand(swarm, [seconds * 0.4, 60].min, seed) # what it needs at such times, it then has
  swarm.follow("the first are gone") { measure(swarm)[:descriptors] <= rested[:descriptors] }
  before = measure(swarm)

  counts, times = withstand(swarm, seconds * 0.6, seed + 100)
  swarm.follow("no more descriptors than before: #{rested}") do
    measure(swarm)[:descriptors] <= rested[:descriptors]
  end
  after = measure(swarm)
  puts "seed #{seed}: #{rested} -> #{before} -> #{after}; #{counts}; #{shown(times)}; " \
       "#{@refused.to_i} asked again"
  must("answer who asks") { times[:status].size > @refused.to_i }
  usual = [rested, before].map { |one| one[:kilobytes] }.max # the kernel takes some back meanwhile
  must("keep its memory") { after[:kilobytes] <= usual * 1.1 + 2048 }
  must("be besieged by all: #{counts}") { counts.size == 10 && counts.values.all?(&:positive?) }
  died = swarm.events.select { |event| GONE.include?(event["event"]) }
  must("lose nobody else: #{died.size}") { died.all? { |event| event["signal"] == "KILL" } }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
