# frozen_string_literal: true

# A node that dies again and again is started less and less often, and everybody can see it: an
# event when it begins and when it is over, in the status meanwhile. Deaths before readiness (a
# deploy's fault) are counted apart from those at work. `on_crash_loop: :stop` ends with 4; a status
# of `never_restart_on` ends that node alone.
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

def looping(kind)
  swarm = run_swarm(format(LOOP, options: "on_crash_loop: :backoff"))
  swarm.await("node_ready", times: 2)
  File.write(File.join(swarm.directory, "bad"), kind)
  swarm.kill(swarm.nodes.first)
  swarm.await("node_waiting", times: 3)
  begun = swarm.await("crash_loop")
  must("say how it died: #{begun}") { begun.values_at("node", "phase", "deaths") == [0, kind, 4] }
  swarm
end

Scenario.play do
  %w[boot work].each do |kind|
    swarm = looping(kind)
    status = swarm.status("loop")
    first, second = status["nodes"]
    must("show it: #{status}") do
      [status, first, second].map { |one| one["crash_loop"] } == [true, true, false]
    end
    must("count #{kind} apart: #{first}") { first["deaths"][kind] > first["deaths"].values.sum / 2 }
    must("keep the other") { second["state"] == "ready" && second["restarts"].zero? }
    must("tell of it once") { swarm.events.count { |event| event["event"] == "crash_loop" } == 1 }
    File.unlink(File.join(swarm.directory, "bad"))
    swarm.await("crash_loop_ended")
    must("be as before") { !swarm.status("loop")["crash_loop"] }
    must("stop with 0") { swarm.stop.exitstatus == 0 }
  end

  swarm = run_swarm(format(LOOP, options: "on_crash_loop: :stop"))
  swarm.await("node_ready", times: 2)
  File.write(File.join(swarm.directory, "bad"), "work")
  swarm.kill(swarm.nodes.first)
  must("give up with 4") { swarm.wait.exitstatus == 4 }

  swarm = run_swarm(format(LOOP, options: "never_restart_on: 8"))
  swarm.await("node_ready", times: 2)
  File.write(File.join(swarm.directory, "bad"), "work")
  swarm.kill(swarm.nodes.first)
  swarm.await("node_finished")
  must("leave the others at work") do
    swarm.status("loop")["nodes"].map { |node| node["state"] }.sort == %w[dead ready]
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
