# frozen_string_literal: true

# Processes that have nothing to do wake at most three times a liveness_timeout: nodes that wait,
# the mold, and the supervisor, however many nodes it has. (In their first minutes the supervisor
# looks at its nodes' memory more often: once in some seconds at all of them, and each may answer
# once, which is added here.)
# Counted from the kernel's own count of how often each thread gave up the processor by itself.
require_relative "scenario"

TIMEOUT = 6.0
PERIODS = 2
MEMORY = 0.5 # looks a second

SOURCE = <<~RUBY
  Skep.swarm "idle", nodes: 12, liveness_timeout: #{TIMEOUT} do |swarm|
    swarm.work(nodes: 10) { |child| child.ready!; child.wait until child.stopping? }
    swarm.work(nodes: 2) do |child|
      child.ready!
      pipe = IO.pipe
      child.wait_for([pipe.first]) until child.stopping?
    end
  end
RUBY

# How often each thread of a process has given up the processor, by what it is called.
WAKES = lambda do |pid|
  Dir.glob("/proc/#{pid}/task/*/status").sum do |path|
    File.read(path)[/^voluntary_ctxt_switches:\s+(\d+)/, 1].to_i
  end
end

Scenario.play do
  swarm = run_swarm(SOURCE)
  pids = { "supervisor" => swarm.pid, "mold" => swarm.await("mold_ready")["pid"] }
  swarm.await("node_ready", times: 12).each { |event| pids["node #{event["node"]}"] = event["pid"] }
  swarm.read(Skep::OS.now + TIMEOUT) # what booting has left to do

  before = pids.transform_values(&WAKES)
  began = Skep::OS.now
  swarm.read(began + (PERIODS * TIMEOUT))
  periods = (Skep::OS.now - began) / TIMEOUT
  wakes = pids.to_h { |name, pid| [name, WAKES.call(pid) - before[name]] }
  puts "wake-ups in #{periods.round(2)} liveness_timeouts: #{wakes}"
  most = wakes.to_h { |name, _| [name, (3 * periods).ceil + 1] } # one may be under way
  most["supervisor"] += (MEMORY * TIMEOUT * periods).ceil + 12
  must("wake at most so often: #{most}") { wakes.all? { |name, count| count <= most[name] } }
  must("find nobody hung") { swarm.events.none? { |event| event["event"] == "node_hung" } }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
