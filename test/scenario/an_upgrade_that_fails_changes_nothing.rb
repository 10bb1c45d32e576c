# frozen_string_literal: true

# The new skep can't be loaded, can't read the state file or refuses, or a change is in progress:
# the command prints one sentence, exits with a code other than 0, and the swarm continues
# unchanged. A program that accepts and then fails is a dead supervisor: its nodes finish and exit.
require_relative "scenario"

SOURCE = <<~'RUBY'
  Skep.swarm "stays", nodes: 2, max_restarts: 1_000, orphan_timeout: 2 do |swarm|
    gate = "#{__dir__}/gate"
    swarm.on_boot { |_| File.read(gate) if File.exist?(gate) }
    swarm.work { |node| node.ready!; node.wait until node.stopping? }
  end
RUBY

# Returns the program of a changed copy of skep; the block gets its lib/skep.
def changed_skep(name)
  root = File.expand_path("../..", __dir__)
  Dir.mkdir(copy = File.join(directory, name))
  FileUtils.cp_r(%w[exe lib].map { |part| File.join(root, part) }, copy)
  yield "#{copy}/lib/skep"
  "#{copy}/exe/skep"
end

def program(name, source) = File.join(directory, name).tap { |path| File.write(path, source) }

# Requests an upgrade to that program; returns the supervisor's answer.
def request(swarm, program)
  client = Skep::Control::Client.new("#{swarm.directory}/stays.sock")
  client.call("upgrade", timeout: Scenario::SECONDS, program: [RbConfig.ruby, program])
        .values_at("error", "done").compact.first
end

def pids(swarm) = swarm.status("stays")["nodes"].map { |node| node["pid"] }

# The process of the failed trial may take some time to exit.
def refuses(swarm, program, why)
  before = state(swarm)
  answer = request(swarm, program)
  must("answer #{why}: #{answer}") { answer.match?(why) }
  swarm.follow("it continues unchanged: #{before}") { state(swarm) == before }
end

def state(swarm) = [pids(swarm), descriptors(swarm), swarm.status("stays")["skep"]]

# Counts the supervisor's open descriptors.
def descriptors(swarm)
  Dir.children("/proc/#{swarm.pid}/fd").map { |fd| File.readlink("/proc/#{swarm.pid}/fd/#{fd}") }
     .reject { |what| what.start_with?("/proc") }.size
rescue Errno::ENOENT # one was just closed
  retry
end

def children(swarm) = File.read("/proc/#{swarm.pid}/task/#{swarm.pid}/children").split.map(&:to_i)

# Lets the booting node continue, once it waits at the gate.
def let_boot(swarm)
  File.open("#{swarm.directory}/gate", "w") do
    File.rename("#{swarm.directory}/gate", "#{directory}/gate")
  end
end

Scenario.play do
  swarm = run_swarm(SOURCE)
  swarm.await("node_ready", times: 2)
  unless Skep::OS::SignalHandoff.supported?
    refuses(swarm, swarm.class::SKEP, /C extension/)
    next must("stop with 0") { swarm.stop.exitstatus == 0 }
  end

  broken = changed_skep("broken") do |lib|
    File.write("#{lib}/swarm/nodes/slot.rb", "module Skep\n  )\n")
  end
  lacking = changed_skep("lacking") do |lib|
    File.write("#{lib}/version.rb", "require 'no_such_gem'\n")
  end
  newer = changed_skep("newer") do |lib|
    file = "#{lib}/swarm/rollout/upgrade/state_file.rb"
    text = File.read(file)
    File.write(file, text.sub(/FORMAT = \d+/, "FORMAT = 999"))
    File.write("#{lib}/version.rb", "module Skep\n  VERSION = '99.9'\nend\n")
  end
  refuses(swarm, broken, /can't take over: .*slot\.rb/)
  refuses(swarm, lacking, /can't take over: .*no_such_gem/)
  refuses(swarm, newer, /skep 99\.9 can't take over .* its format is \d+ and not 999: stop/)
  refuses(swarm, program("no.rb", "exit 3"), /can't take over: exit status 3/)
  refuses(swarm, program("yes.rb", "exit 0"), /can't take over: it is no skep/)
  refuses(swarm, "#{directory}/no\0body", /no such program/)
  refuses(swarm, "#{directory}/missing", /no such program: .*missing/)
  refuses(swarm, "exe/skep", /no such program/)
  must("publish each failure and each refusal") do
    swarm.await("upgrade_failed", times: 5) && swarm.await("upgrade_refused", times: 3)
  end
  must("exit with 1: #{swarm.skep("upgrade", "missing")}") do
    swarm.skep("upgrade", "missing").lines.size == 1
  end

  File.mkfifo("#{swarm.directory}/gate")
  swarm.signal("USR2")
  swarm.await("node_forked", times: 3)
  refuses(swarm, swarm.class::SKEP, /restart is under way/)
  let_boot(swarm)
  swarm.await("restart_finished")

  File.rename("#{directory}/gate", "#{swarm.directory}/gate")
  swarm.await("node_forked") # the second node of the restart
  swarm.await(GONE, times: 2) # the two old nodes
  swarm.kill(pids(swarm).first)
  swarm.await("node_forked")
  swarm.await(GONE)
  refuses(swarm, swarm.class::SKEP, /node 0 is booting: try again/)
  let_boot(swarm)
  swarm.follow("both are ready") do
    swarm.status("stays")["nodes"].all? { |node| node["state"] == "ready" }
  end

  swarm.kill(stopped = pids(swarm).last, :STOP)
  must("upgrade while a node is stopped by SIGSTOP") { swarm.skep("upgrade").nil? }
  swarm.kill(stopped, :CONT)

  stuck = program("stuck.rb", "IO.select(nil)")
  answer = Thread.new { request(swarm, stuck) }
  swarm.await("upgrade_started", times: 7)
  nodes = pids(swarm)
  swarm.kill(nodes.last)
  must("report deaths during the trial") do
    swarm.await(GONE) { |event| event["pid"] == nodes.last }
  end
  trial = children(swarm).find { |pid| command_line(pid).include?(stuck) }
  must("stop during the trial, with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  must("answer that it is stopping: #{answer.value}") { answer.value.include?("stopping") }
  await_exit([trial])

  inside = <<~RUBY
    $LOAD_PATH.unshift(#{File.expand_path("../../lib", __dir__).inspect}); require "skep"
    Skep.swarm("stays", nodes: 1) { |swarm| swarm.work { |node| node.ready!; node.wait } }.run
  RUBY
  within = run_swarm(nil, before: "#{inside.tr("\n", ";")} exit")
  within.follow("its node is ready") { within.lines.grep(/node_ready/).any? }
  output = within.skep("upgrade", "stays")
  must("refuse to upgrade a program of its own: #{output}") do
    output&.include?("your own program runs the supervisor")
  end
  must("stop with 0") { within.stop.exitstatus == 0 }

  last = run_swarm(SOURCE)
  last.await("node_ready", times: 2)
  nodes = pids(last)
  able = "warn #{Skep::Swarm::Rollout::Upgrade::ABLE.inspect}; "
  liar = program("liar.rb", "#{able}exit(Process.ppid == #{last.pid})") # 0 in its trial only
  must("not answer") do
    request(last, liar)
    false
  rescue Skep::Control::Unreachable
    true
  end
  must("end with 1") { last.wait.exitstatus == 1 }
  await_exit(nodes)
end
