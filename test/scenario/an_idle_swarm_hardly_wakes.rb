# frozen_string_literal: true

# Processes that have nothing to do wake at most three times a liveness_timeout: nodes that wait,
# the mold, and the supervisor, however many nodes it has. Counted from the kernel's own count of
# how often each thread gave up the processor of its own accord.
require_relative "scenario"

TIMEOUT = 3.0
PERIODS = 3

SOURCE = <<~RUBY
  Skep.swarm "idle", nodes: 12, liveness_timeout: #{TIMEOUT} do |swarm|
    swarm.work(nodes: 10) { |child| child.ready!; child.wait until child.stopping? }
    swarm.work(nodes: 2) do |child|
      child.ready!
      child.wait_for([IO.pipe.first]) until child.stopping?
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
  must("wake at most three times a liveness_timeout: #{wakes}") do
    wakes.each_value.all? { |count| count <= (3 * periods).ceil }
  end
  must("find nobody hung") { swarm.events.none? { |event| event["event"] == "node_hung" } }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
