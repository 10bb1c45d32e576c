# frozen_string_literal: true

# Checks the exit codes of docs/reference, as a shell or systemd sees them. Two codes have their own
# scenarios: 3 (a node whose supervisor died) is in a_killed_supervisor_leaves_no_orphan, 75 (no
# broker yet) in kafka/systemd_restarts_a_swarm_until_its_broker_answers.
require_relative "scenario"

WORK = "swarm.work { |node| node.ready!; node.wait until node.stopping? }"
STUBBORN = "swarm.work { |node| node.ready!; IO.pipe { |reader, _| reader.read } }"

Scenario.play do
  swarm = lambda do |body, options = ""|
    <<~RUBY
      Skep.swarm "one", nodes: 1#{options} do |swarm|
        #{body}
      end
    RUBY
  end
  ends = lambda do |code, why, running|
    status = running.wait
    must("#{why}: end with #{code}, not #{status}: #{running.stderr}") { status.exitstatus == code }
    running
  end
  ready = ->(source) { run_swarm(source).tap { |running| running.await("node_ready") } }
  command = lambda do |*arguments|
    out, status = Open3.capture2e(RbConfig.ruby, Scenario::RunningSwarm::SKEP, *arguments)
    must("print one line: #{out}") { out.lines.size == 1 }
    status.exitstatus
  end

  ends.call(0, "stopped as asked", ready.call(swarm.call(WORK)).tap { |one| one.signal(:TERM) })
  finished = "swarm.work { |node| node.ready! }"
  ends.call(0, "all work finished", run_swarm(swarm.call(finished, ", restart: :on_failure")))

  raising = "swarm.preload { raise \"bad\" }; #{WORK}"
  ends.call(1, "the application raised", run_swarm(swarm.call(raising)))
  never = "swarm.on_boot { raise \"no database\" }; #{WORK}"
  ends.call(1, "no node became ready", run_swarm(swarm.call(never)))

  forced = ready.call(swarm.call(STUBBORN))
  forced.signal(:TERM)
  forced.await("swarm_stopping")
  ends.call(2, "a second TERM", forced.tap { |one| one.signal(:TERM) })
  ends.call(2, "QUIT", ready.call(swarm.call(WORK)).tap { |one| one.signal(:QUIT) })
  late = ready.call(swarm.call(STUBBORN, ", stop_timeout: 0.5"))
  ends.call(2, "killed at stop_timeout", late.tap { |one| one.signal(:TERM) })

  crashing = swarm.call("swarm.work { |node| node.ready!; exit!(9) }",
                        ", on_crash_loop: :stop, max_restarts: 1")
  ends.call(4, "a crash loop", run_swarm(crashing))

  must("end with 64: no such command") { command.call("rnu") == 64 }
  must("end with 64: no such option") { command.call("run", "--nodse") == 64 }
  must("end with 78: no such file") { command.call("run", "#{directory}/none.rb") == 78 }
  ends.call(78, "an unknown option", run_swarm(swarm.call(WORK, ", nodse: 2")))
  first = ready.call(swarm.call(WORK))
  second = run_swarm(swarm.call(WORK), in_directory: first.directory)
  ends.call(78, "a name that runs already", second)
  must("leave the first alone") { first.stop.exitstatus.zero? }
end
