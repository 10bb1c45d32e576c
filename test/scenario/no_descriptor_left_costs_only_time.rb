# frozen_string_literal: true

# EMFILE, in the supervisor and in the mold, with room for no descriptor, then for one more, and so
# on: nodes that die meanwhile are replaced as soon as there is enough, nobody else is touched, and
# in the end the supervisor answers and stops.
require_relative "scenario"

class Scenario
  # One descriptor more after each try; returns how many nodes got ready.
  def feed(swarm, pid, range)
    ready = 0
    range.each do |most|
      limit(pid, "nofile", most)
      seen = swarm.events.size
      swarm.follow("a try with #{most}") { swarm.events[seen..].any? { |event| tried?(event) } }
      ready += swarm.events[seen..].count { |event| event["event"] == "node_ready" }
      break if ready >= 2
    end
    ready
  end

  # In a mold short of descriptors a node is short of them too: it may not get far.
  def tried?(event) = [*GONE, "fork_failed", "node_ready"].include?(event["event"])
end

Scenario.play do
  swarm = run_swarm(IDLE)
  mold = swarm.await("mold_ready")["pid"]
  swarm.await("node_ready", times: 3)
  files = -> { Dir.children("/proc/#{swarm.pid}/fd").size }
  before = files.call
  # Kills two of three nodes while the process has no descriptor left.
  starve = lambda do |pid|
    alive = swarm.status("idle")["nodes"].map { |node| node["pid"] }
    open = Dir.children("/proc/#{pid}/fd").map(&:to_i).max
    usual = limit(pid, "nofile", 3)
    alive.first(2).each { |node| swarm.kill(node) }
    swarm.await(GONE, times: 2)
    refused = swarm.await("fork_failed", times: 2)
    must("say why: #{refused}") { refused.all? { |event| event["error"].include?("open files") } }
    control = File.join(swarm.directory, "idle.sock")
    asked = Thread.new { Skep::Control::Client.new(control).call("status") }
    ready = feed(swarm, pid, 4..open + 5)
    must("go on when there is enough, with #{ready} ready") { ready == 2 }
    limit(pid, "nofile", usual)
    must("answer who asked meanwhile") do
      asked.value["status"] || asked.value["error"].end_with?("too many open files")
    end
    left = swarm.status("idle")["nodes"].map { |node| node["pid"] }
    must("leave the third alone") { left[2] == alive[2] }
  end
  starve.call(swarm.pid)
  starve.call(mold)

  swarm.follow("it has no more descriptors than before: #{before}") { files.call <= before }
  must("keep its mold") { swarm.events.none? { |event| event["event"] == "mold_died" } }
  no_zombie(swarm, [swarm.pid, mold])
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
