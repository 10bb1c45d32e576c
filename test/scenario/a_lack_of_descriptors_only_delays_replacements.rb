# frozen_string_literal: true

# The supervisor, then the mold, gets EMFILE: first with room for no descriptor, then for one more,
# and so on. Nodes that die are replaced once there are enough descriptors, other nodes continue,
# and at the end the supervisor answers and stops.
require_relative "scenario"

class Scenario
  # Allows one more descriptor after each attempt; returns how many nodes became ready.
  def raise_limit(swarm, pid)
    used = Dir.children("/proc/#{pid}/fd").map(&:to_i)
    ready = 0
    [*0..used.max + 5].difference(used).each do |most|
      limit(pid, "nofile", most)
      seen = swarm.events.size
      swarm.follow("an attempt with #{most}") do
        swarm.events[seen..].any? { |event| attempt?(event) }
      end
      ready += swarm.events[seen..].count { |event| event["event"] == "node_ready" }
      break if ready >= 2
    end
    ready
  end

  # A node inherits the mold's limit, so its boot may fail.
  def attempt?(event) = [*GONE, "fork_failed", "node_ready"].include?(event["event"])
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
    usual = limit(pid, "nofile", 3)
    alive.first(2).each { |node| swarm.kill(node) }
    swarm.await(GONE, times: 2)
    refused = swarm.await("fork_failed", times: 2)
    must("report the cause: #{refused}") do
      refused.all? { |event| event["error"].include?("open files") }
    end
    control = File.join(swarm.directory, "idle.sock")
    answer = Thread.new { Skep::Control::Client.new(control).call("status") }
    ready = raise_limit(swarm, pid)
    must("replace both nodes once there are enough, not #{ready}") { ready == 2 }
    limit(pid, "nofile", usual)
    must("answer a client that connected meanwhile") do
      answer.value["status"] || answer.value["error"].end_with?("too many open files")
    end
    left = swarm.status("idle")["nodes"].map { |node| node["pid"] }
    must("keep the third node") { left[2] == alive[2] }
  end
  starve.call(swarm.pid)
  starve.call(mold)

  swarm.follow("it has no more descriptors than before: #{before}") { files.call <= before }
  must("keep its mold") { swarm.events.none? { |event| event["event"] == "mold_died" } }
  no_zombie(swarm, [swarm.pid, mold])
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
