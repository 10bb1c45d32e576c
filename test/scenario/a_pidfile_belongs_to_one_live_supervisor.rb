# frozen_string_literal: true

# `skep run --pidfile PATH`, without FILE in a directory with swarm.rb: the file has the
# supervisor's pid from its start to its end. A second swarm with the same pidfile is refused. A
# pidfile that a killed supervisor has left is replaced.
require_relative "scenario"

Scenario.play do
  pidfile = "#{directory}/idle.pid"
  with_pidfile = { arguments: ["--pidfile", pidfile], named: false }
  File.write(pidfile, "#{Process.ppid}\n") # stale: its process is no supervisor

  first = run_swarm(IDLE, **with_pidfile)
  first.await("node_ready", times: 3)
  must("write its pid: #{File.read(pidfile)}") { File.read(pidfile) == "#{first.pid}\n" }

  second = run_swarm(IDLE.sub("idle", "other"), **with_pidfile)
  must("refuse a second swarm with 78") { second.wait.exitstatus == 78 }
  must("print the reason in one sentence: #{second.stderr}") do
    taken = /\Askep: the pidfile \S+ belongs to a running supervisor \(pid #{first.pid}\): .*\n\z/
    second.stderr.match?(taken)
  end
  must("keep the first swarm's pidfile") { File.read(pidfile) == "#{first.pid}\n" }

  first.signal(:KILL)
  first.wait
  must("leave the pidfile when it is killed") { File.exist?(pidfile) }
  fourth = run_swarm(IDLE, **with_pidfile)
  fourth.await("node_ready", times: 3)
  must("replace the stale pidfile") { File.read(pidfile) == "#{fourth.pid}\n" }
  must("stop with 0: #{fourth.account}") { fourth.stop.exitstatus == 0 }
  must("remove the pidfile at the end") { !File.exist?(pidfile) }

  File.write(pidfile, "the only copy")
  fifth = run_swarm(IDLE, **with_pidfile)
  must("refuse a file that is no pidfile: #{fifth.stderr}") do
    fifth.wait.exitstatus == 78 && fifth.stderr.include?("its content is no pid") &&
      File.read(pidfile) == "the only copy"
  end
end
