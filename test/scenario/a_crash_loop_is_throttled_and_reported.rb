# frozen_string_literal: true

# A node that dies repeatedly is restarted after growing pauses. Events report the start and the end
# of the crash loop, and the status shows it meanwhile. Deaths before readiness are counted
# separately from deaths at work. `on_crash_loop: :stop` ends the swarm with 4. An exit status in
# `never_restart_on` ends only that node. Spares that die at boot are a crash loop, too.
require_relative "scenario"

LOOP = <<~RUBY
  Skep.swarm "loop", nodes: 2, max_restarts: 3, restart_window: 2, %<options>s do |swarm|
    swarm.work do |node|
      bad = node.id.zero? && File.exist?("\#{__dir__}/bad")
      exit!(7) if bad && File.read("\#{__dir__}/bad") == "boot"
      node.ready!
      exit!(8) if bad
      node.wait until node.stopping?
    end
  end
RUBY

SPARES = <<~RUBY
  Skep.swarm "loop", nodes: 1, spares: 1, max_restarts: 3, restart_window: 2 do |swarm|
    swarm.on_boot { |node| exit!(7) if node.id.nil? && File.exist?("\#{__dir__}/bad") }
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

def looping(kind)
  swarm = run_swarm(format(LOOP, options: "on_crash_loop: :backoff"))
  swarm.await("node_ready", times: 2)
  File.write(File.join(swarm.directory, "bad"), kind)
  swarm.kill(swarm.nodes.first)
  swarm.await("node_waiting", times: 3)
  begun = swarm.await("crash_loop")
  must("publish the phase: #{begun}") { begun.values_at("node", "phase", "deaths") == [0, kind, 4] }
  swarm
end

Scenario.play do
  %w[boot work].each do |kind|
    swarm = looping(kind)
    status = swarm.status("loop")
    first, second = status["nodes"]
    must("show the crash loop in the status: #{status}") do
      [status, first, second].map { |one| one["crash_loop"] } == [true, true, false]
    end
    must("count each phase: #{first}") { first["deaths"][kind] > first["deaths"].values.sum / 2 }
    must("keep the other node") { second["state"] == "ready" && second["restarts"].zero? }
    must("publish it once") { swarm.events.count { |event| event["event"] == "crash_loop" } == 1 }
    File.unlink(File.join(swarm.directory, "bad"))
    swarm.await("crash_loop_ended")
    must("clear crash_loop in the status") { !swarm.status("loop")["crash_loop"] }
    must("stop with 0") { swarm.stop.exitstatus == 0 }
  end

  swarm = run_swarm(format(LOOP, options: "on_crash_loop: :stop"))
  swarm.await("node_ready", times: 2)
  File.write(File.join(swarm.directory, "bad"), "work")
  swarm.kill(swarm.nodes.first)
  must("exit with 4") { swarm.wait.exitstatus == 4 }

  swarm = run_swarm(format(LOOP, options: "never_restart_on: 8"))
  swarm.await("node_ready", times: 2)
  File.write(File.join(swarm.directory, "bad"), "work")
  swarm.kill(swarm.nodes.first)
  swarm.await("node_finished")
  must("keep the other node ready") do
    swarm.status("loop")["nodes"].map { |node| node["state"] }.sort == %w[dead ready]
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }

  swarm = run_swarm(SPARES)
  spare = swarm.await("spare_ready")["pid"]
  File.write(File.join(swarm.directory, "bad"), "")
  swarm.kill(spare)
  begun = swarm.await("crash_loop")
  must("report spares that die at boot: #{begun}") do
    begun.values_at("node", "phase", "level") == ["spare 0", "boot", "error"]
  end
  swarm.await("node_waiting", times: 2)
  must("exit with 1 from `status --exit-status`") { swarm.skep("status", "loop", "--exit-status") }
  must("keep the node ready") { swarm.status("loop")["nodes"].first["state"] == "ready" }
  File.unlink(File.join(swarm.directory, "bad"))
  swarm.await("crash_loop_ended")
  must("exit with 0 again") { swarm.skep("status", "loop", "--exit-status").nil? }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
