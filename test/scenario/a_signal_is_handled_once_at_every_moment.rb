# frozen_string_literal: true

# Each signal is sent to the supervisor while the mold loads the file, while nodes boot, at work,
# and during a stop. Its effect is the one in docs/reference/signals.md. Its handler runs once, and
# no process is left. (ROUNDS=n for more rounds.)
require_relative "scenario"

# A named pipe holds the swarm at that moment until the scenario writes to it.
HELD = <<~RUBY
  hold = lambda do |moment|
    next unless ENV["HOLD"] == moment
    $stderr.syswrite("held\\n")
    File.open("\#{__dir__}/gate") { |gate| gate.sysread(1) }
  end
  Skep.swarm "held", nodes: 2, boot_concurrency: 2, stop_timeout: 60, max_restarts: 1000 do |swarm|
    swarm.preload { hold.call("load") }
    swarm.on_boot { hold.call("boot") }
    swarm.on_exit { |node| hold.call("stop") }
    swarm.work do |node|
      node.ready!
      node.event(:was_quiet) if node.wait && !node.stopping?
      node.wait until node.stopping?
    end
  end
RUBY

# The effect of a signal at a moment: an event, and the exit code if it ends the swarm.
LOAD = { "TERM" => ["swarm_stopping", 0], "INT" => ["swarm_stopping", 0],
         "QUIT" => ["swarm_forced", 2], "TSTP" => ["swarm_quiet"], "TTIN" => [],
         "USR1" => [], "USR2" => ["restart_refused"], "HUP" => ["reload_refused"],
         "CHLD" => [] }.freeze
BOOT = { **LOAD, "USR2" => ["restart_started"], "HUP" => ["reload_started"] }.freeze
WORK = { **BOOT, "TSTP" => ["was_quiet"], "TTIN" => ["node_backtraces"],
         "USR2" => ["restart_finished"], "HUP" => ["reload_finished"] }.freeze
STOP = { **LOAD, "TERM" => ["swarm_forced", 2], "INT" => ["swarm_forced", 2],
         "TTIN" => ["node_backtraces"] }.freeze
TABLE = { "load" => LOAD, "boot" => BOOT, "work" => WORK, "stop" => STOP }.freeze

def reach(swarm, moment)
  return swarm.await("node_ready", times: 2) if moment == "work"

  if moment == "stop"
    swarm.await("node_ready", times: 2)
    swarm.signal("TERM")
    swarm.await("swarm_stopping")
  end
  times = moment == "load" ? 1 : 2
  swarm.follow("the swarm is held") { swarm.stderr.lines.grep(/held/).size >= times }
  IO.select(nil, nil, nil, 0.06) if moment == "stop" # an earlier TERM counts as the same one
end

def play_one(moment, signal, event, code)
  swarm = run_swarm(HELD, env: { "HOLD" => moment }, prepare: lambda { |directory|
    File.mkfifo(File.join(directory, "gate"))
  })
  reach(swarm, moment)
  swarm.signal(signal)
  swarm.await(event) if event
  code ||= 0 if moment == "stop"
  finish_one(swarm, moment, code)
  swarm
end

# Releases the swarm, and stops it if the signal didn't.
def finish_one(swarm, moment, code)
  release(swarm)
  if code.nil?
    swarm.await("node_ready", times: 2) unless moment == "work"
    swarm.signal("TERM")
  end
  status = swarm.wait
  must("exit with #{code || 0} after a signal at #{moment}: #{status.inspect}; #{swarm.account}") do
    status.exitstatus == (code || 0)
  end
end

# Lets every process through the gate, now and later.
def release(swarm)
  gate = File.open(File.join(swarm.directory, "gate"), "r+")
  at_end { gate.close }
  gate.syswrite("." * 1_000)
end

Scenario.play do
  Integer(ENV.fetch("ROUNDS", "1")).times do
    TABLE.each do |moment, signals|
      signals.each do |signal, (event, code)|
        swarm = play_one(moment, signal, event, code)
        twice = %w[swarm_stopping swarm_forced swarm_quiet].select do |name|
          swarm.events.count { |one| one["event"] == name } > 1
        end
        must("run #{signal}'s handler once at #{moment}: #{twice}") { twice.empty? }
        await_exit(swarm.nodes)
        swarm.close
        swarms.clear
      end
    end
  end
end
