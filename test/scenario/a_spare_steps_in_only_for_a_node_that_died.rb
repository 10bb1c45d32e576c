# frozen_string_literal: true

# A spare steps in only for a node that died: not during a rolling restart or scaling, and not for a
# node that finished its work. A hung node is killed first, then a spare takes its slot. A slot over
# max_restarts waits as it does without spares.
require_relative "scenario"

def swarm_of(options, work)
  run_swarm(<<~RUBY)
    Skep.swarm "spared", nodes: 2, spares: 1, #{options} do |swarm|
      swarm.work do |node|
        node.ready!
        #{work}
        node.wait until node.stopping?
      end
    end
  RUBY
end

def booted(swarm)
  swarm.await("spare_ready")
  swarm.await("node_ready", times: 2).to_h { |event| [event["node"], event["pid"]] }
end

def stepped(swarm) = swarm.events.count { |event| event["event"] == "spare_stepped_in" }

def ask(swarm, request, **more)
  Skep::Control::Client.new("#{swarm.directory}/spared.sock").call(request, **more)
end

def stop(swarm) = must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }

Scenario.play do
  swarm = swarm_of("max_restarts: 1_000", "")
  old = booted(swarm)
  swarm.signal(:USR2)
  swarm.await("restart_finished")
  replaced = swarm.await("node_ready", times: 2).to_h { |event| [event["node"], event["pid"]] }
  must("replace all nodes by a restart") { (old.values & replaced.values).empty? }
  must("replace the spare, too") { swarm.await("spare_ready") }
  must("let no spare step in at a restart") { stepped(swarm).zero? }
  swarm.kill(replaced[0])
  must("let it step in for a killed node") { swarm.await("spare_stepped_in")["node"].zero? }
  swarm.await("spare_ready")
  stop(swarm)
end

Scenario.play do
  swarm = swarm_of("max_restarts: 1_000", "")
  booted(swarm)
  ask(swarm, "scale", nodes: 4)
  added = swarm.await("node_ready", times: 2)
  swarm.kill(added.last["pid"])
  must("let a spare step in for an added node") do
    swarm.await("spare_stepped_in")["node"] == added.last["node"]
  end
  swarm.await("spare_ready")
  ask(swarm, "scale", nodes: 1)
  swarm.await(GONE, times: 3) { |event| event["reason"] == "scale" }
  must("let no spare step in for removed nodes") { stepped(swarm) == 1 }
  stop(swarm)
end

Scenario.play do
  swarm = swarm_of("liveness_timeout: 1, kill_timeout: 1",
                   'Thread.stop if node.id == 0 && !File.exist?("#{__dir__}/well")')
  booted(swarm)
  swarm.await("node_hung")
  File.write("#{swarm.directory}/well", "")
  hung = swarm.await(GONE) { |event| event["node"].is_a?(Integer) }
  must("publish why the hung node died: #{hung}") { [hung["node"], hung["reason"]] == [0, "hung"] }
  must("let a spare step in for it") { swarm.await("spare_stepped_in")["node"].zero? }
  stop(swarm)
end

Scenario.play do
  swarm = swarm_of("restart: :on_failure, max_restarts: 1_000",
                   "next if node.id == 0; node.wait(0.2); exit!(4)")
  booted(swarm)
  swarm.await("node_finished")
  swarm.await("spare_stepped_in", times: 3)
  must("let no spare step in for the finished node") do
    swarm.events.none? { |event| event["event"] == "spare_stepped_in" && event["node"] == 0 }
  end
  swarm.stop
end

Scenario.play do
  swarm = swarm_of("max_restarts: 3", "Skep.pidfd(Skep.pid).signal(:KILL) if node.id == 1")
  waiting = swarm.await("node_waiting")
  before = swarm.events.take_while { |event| !event.equal?(waiting) } # without a fifth death
  deaths = before.count { |event| GONE.include?(event["event"]) && event["node"] == 1 }
  must("wait after the fourth death: #{waiting}, #{swarm.account}") { deaths == 4 }
  swarm.stop
end
