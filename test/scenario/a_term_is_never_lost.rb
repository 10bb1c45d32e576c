# frozen_string_literal: true

# TERM at any moment of a boot, a fork or a hook ends the swarm with 0, and no process is left. Then
# nodes get TERM within on_boot. (ROUNDS=n for more moments.)
require_relative "scenario"

Scenario.play do
  rounds = Integer(ENV.fetch("ROUNDS", "25"))
  source = <<~RUBY
    Skep.swarm "idle", nodes: 4, max_restarts: 1_000_000 do |swarm|
      swarm.on_boot { 20_000.times { } }
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  # Before its first line of code, Ruby itself loses one TERM in twenty
  # (docs/reference/signals.md): each round begins at the first line.
  first_line = "%w[TERM INT].each { |name| trap(name) { exit!(0) } }; " \
               "$stdout.syswrite(\"first line\\n\")"
  random = Random.new(Integer(ENV.fetch("SEED", "1")))
  rounds.times do |round|
    swarm = run_swarm(source, before: first_line)
    swarm.follow("Ruby has started") { swarm.lines.any? }
    at = Skep::OS.now + (moment = 0.25 * random.rand)
    swarm.read(at) while Skep::OS.now < at
    status = swarm.stop
    must("exit with 0 after TERM at #{moment.round(3)} s, round #{round}: " \
         "#{status.inspect}; #{swarm.account}") { status.exitstatus == 0 }
    await_exit(swarm.nodes)
    swarm.close
    swarms.clear
  end

  swarm = run_swarm(<<~RUBY)
    Skep.swarm "hooks", nodes: 1, max_restarts: 1_000_000 do |swarm|
      swarm.on_boot { Process.kill(:TERM, Process.pid) }
      swarm.work { |node| node.event(:worked, stopping: node.stopping?); node.ready!; node.wait(20) }
    end
  RUBY
  ends = swarm.await(GONE, times: 5)
  must("exit with 0 after TERM within on_boot: #{swarm.account}") do
    ends.all? { |event| event["exit_status"] == 0 }
  end
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
