# frozen_string_literal: true

# TERM at any moment of a boot, a fork or a hook: the swarm ends, with 0, and nothing is left. Then TERM straight to
# nodes inside their boot. (ROUNDS=n for more moments.)
require_relative "scenario"

Scenario.play do
  rounds = Integer(ENV.fetch("ROUNDS", "40"))
  source = <<~RUBY
    Skep.swarm "idle", nodes: 4, restarts: 1_000_000 do |swarm|
      swarm.on_boot { 20_000.times { } }
      swarm.work { |child| child.ready!; child.wait until child.stopping? }
    end
  RUBY
  rounds.times do |round|
    swarm = run_swarm(source)
    # Ruby itself takes about 60 ms before anything of ours can hear a signal: up to there TERM ends it as it ends any process.
    moment = 0.3 * round / rounds
    swarm.read(Skep::OS.now + 0.01) until moment < (at = (@at ||= {})[swarm] ||= Skep::OS.now).then { Skep::OS.now - at }
    status = swarm.stop
    must("end by TERM at #{moment.round(3)} s: #{status.inspect}; #{swarm.account}") { status.exitstatus == 0 || (status.termsig == 15 && swarm.events.empty?) }
    gone(swarm.nodes)
    swarm.close
    swarms.clear
  end

  swarm = run_swarm(<<~RUBY)
    Skep.swarm "hooks", nodes: 1, restarts: 1_000_000 do |swarm|
      swarm.on_boot { Process.kill(:TERM, Process.pid) }
      swarm.work { |child| child.event(:worked, stopping: child.stopping?); child.ready!; child.wait(20) }
    end
  RUBY
  ends = swarm.await("node_died", times: 5)
  must("hear a TERM within on_boot: #{swarm.account}") { ends.all? { |event| event["exitstatus"] == 0 } }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
