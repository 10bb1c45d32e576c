# frozen_string_literal: true

# Each signal to the supervisor, at each moment of its life: while the mold loads the file, while a
# node boots, at work, and while it stops; what it does is docs/reference/signals.md's table. Each
# time its handler runs once, nothing is left, and what the signal has no use for changes nothing.
# (ROUNDS=n for more rounds.)
require_relative "scenario"

# A named pipe holds the swarm at that moment until it is let go.
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

# What is to be seen of a signal at a moment: an event, and the exit code if it ends the swarm.
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
  swarm.follow("it is held") { swarm.stderr.lines.grep(/held/).size >= times }
  IO.select(nil, nil, nil, 0.06) if moment == "stop" # sooner it is the same TERM
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

# Lets it go on; a swarm that the signal didn't end is stopped.
def finish_one(swarm, moment, code)
  release(swarm)
  if code.nil?
    swarm.await("node_ready", times: 2) unless moment == "work"
    swarm.signal("TERM")
  end
  status = swarm.wait
  must("end with #{code || 0} after a #{moment}: #{status.inspect}; #{swarm.account}") do
    status.exitstatus == (code || 0)
  end
end

# Whoever waits in the gate gets through, and so does who comes later.
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
        gone(swarm.nodes)
        swarm.close
        swarms.clear
      end
    end
  end
end
