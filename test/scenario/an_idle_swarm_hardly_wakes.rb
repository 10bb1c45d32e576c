# frozen_string_literal: true

# Idle processes wake some three times per liveness_timeout: waiting nodes, spares, the helper, the
# mold and the supervisor, which samples the charts' numbers meanwhile. This holds for any number of
# nodes, with any limits, once the first liveness_timeout is over. The kernel's voluntary
# context switches of each thread are the wake-ups.
require_relative "scenario"

TIMEOUT = 6.0
PERIODS = 2
LIMITS = "memory_limit: \"1G\", memory_budget: \"16G\", max_lifetime: 3600, spares: 2"

SOURCE = <<~RUBY
  Skep.swarm "%<name>s", nodes: 12, liveness_timeout: #{TIMEOUT}, %<options>s do |swarm|
    swarm.on(:node_died) {}
    swarm.work(nodes: 10) { |node| node.ready!; node.wait until node.stopping? }
    swarm.work(nodes: 2) do |node|
      node.ready!
      pipe = IO.pipe
      node.wait_for([pipe.first]) until node.stopping?
    end
  end
RUBY

# Returns the voluntary context switches of all threads of a process.
WAKES = lambda do |pid|
  Dir.glob("/proc/#{pid}/task/*/status").sum do |path|
    File.read(path)[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i
  end
end

Scenario.play do
  { "plain" => "spares: 0", "limited" => LIMITS }.each do |name, options|
    swarm = run_swarm(format(SOURCE, name:, options:))
    pids = { "supervisor" => swarm.pid, "mold" => swarm.await("mold_ready")["pid"] }
    ready = swarm.await("node_ready", times: 13) # the helper is one
    ready += swarm.await("spare_ready", times: options[/spares: (\d)/, 1].to_i)
    ready.each { |event| pids["node #{event["node"]}"] = event["pid"] }
    swarm.follow_for(TIMEOUT) # until work that is left over from the boot is done

    before = pids.transform_values(&WAKES)
    began = Skep::OS.now
    swarm.follow_for(PERIODS * TIMEOUT)
    periods = (Skep::OS.now - began) / TIMEOUT
    wakes = pids.to_h { |process, pid| [process, WAKES.call(pid) - before[process]] }
    puts "#{name}: wake-ups in #{periods.round(2)} liveness_timeouts: #{wakes}"
    most = (3 * periods).ceil + 1 # one may be in progress
    must("wake at most #{most} times") { wakes.each_value.max <= most }
    stream = swarm.client(name).history_async(series: true)
    stream.read until stream.series || !stream.to_io.wait_readable(Patience.of(10))
    lines = stream.series.to_h.fetch("lines", {})
    stream.close
    must("have sampled the numbers of the charts: #{lines}") { lines["own"] && lines["node/0"] }
    must("report no node as hung") { swarm.events.none? { |event| event["event"] == "node_hung" } }
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  end
end
