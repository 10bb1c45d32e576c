# frozen_string_literal: true

# A node is restarted repeatedly while it and its successors are killed as soon as they are ready.
# Each restart ends, and at the end there are as many processes as nodes: none runs untracked by the
# supervisor. (SECONDS=n and SEED=n vary the run.)
require_relative "scenario"

def restart_repeatedly(control, ends)
  answers = Hash.new(0)
  while Skep::OS.now < ends
    answers[Skep::Control::Client.new(control).call("restart", node: 0).key?("done")] += 1
  end
  answers
end

def kill_all(swarm, pids)
  pids.each do |pid|
    swarm.kill(pid)
  rescue Errno::ESRCH # it has ended already
    next
  end
end

Scenario.play do
  random = Random.new(seed = Integer(ENV.fetch("SEED", Random.new_seed % 10_000)))
  swarm = run_swarm(IDLE)
  swarm.await("node_ready", times: 3)
  control = File.join(swarm.directory, "idle.sock")
  ends = Skep::OS.now + Float(ENV.fetch("SECONDS", "4"))
  restarts = Array.new(2) { Thread.new { restart_repeatedly(control, ends) } }

  forked = []
  seen = 0
  while Skep::OS.now < ends
    swarm.read(ends)
    swarm.events.drop(seen).each do |event|
      forked << event["pid"] if event["event"] == "node_forked" && event["node"].zero?
      next unless event["event"] == "node_ready" && event["node"].zero? && random.rand < 0.5

      kill_all(swarm, forked.last(2))
    end
    seen = swarm.events.size
  end
  done = restarts.sum { |thread| thread.value[true] }
  swarm.follow("all nodes are ready") do
    swarm.status("idle")["nodes"].all? { |node| node["state"] == "ready" }
  end
  molds = swarm.events.filter_map { |event| event["pid"] if event["event"] == "mold_ready" }
  nodes = -> { swarm.status("idle")["nodes"].map { |node| node["pid"] } }
  swarm.follow("only nodes, molds and preforked children are left; seed #{seed}") do
    left = started_by(swarm) - [swarm.pid, *molds, *nodes.call]
    (left - molds.flat_map { |mold| forked_ahead(mold) }).empty?
  end
  must("finish restarts: #{done}") { done.positive? }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
