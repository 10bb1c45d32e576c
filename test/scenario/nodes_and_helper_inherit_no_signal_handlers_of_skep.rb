# frozen_string_literal: true

# Mold, nodes, helper and their children inherit no signal handler, mask or ignored signal of
# skep's. If a program became the supervisor, they have that program's own handlers. USR1, USR2 and
# HUP, sent to all processes, act in the supervisor only.
require_relative "scenario"

# What a process reports: its `handlers` of the signals that nodes don't use, the handlers of all
# signals in a `forked` child, and the kernel's masks of an `executed` one.
REPORT = <<~'RUBY'
  require "json"
  OWN = -> { }
  OTHERS = %w[CHLD WINCH ALRM]
  ALL = %w[TERM INT QUIT TSTP TTIN HUP USR1 USR2] + OTHERS

  def handlers(names)
    names.to_h do |name|
      was = Signal.trap(name, "DEFAULT")
      Signal.trap(name, was)
      [name, was == OWN ? "own" : was]
    end
  end

  def forked
    IO.popen("-") { |io| io ? JSON.parse(io.read) : $stdout.write(handlers(ALL).to_json) && exit!(0) }
  end

  def executed = IO.popen(%w[cat /proc/self/status], &:read).scan(/^(Sig(?:Blk|Ign|Cgt)):\s*(\h+)/).to_h
  def report = { handlers: handlers(OTHERS), forked:, executed: }
RUBY

SWARM = <<~'RUBY'
  swarm = Skep.swarm "traps", nodes: 1 do |described|
    described.preload { File.write("#{PLACE}/mold", report.to_json) }
    described.on(:node_ready) { |_| File.write("#{PLACE}/helper", report.to_json) }
    described.work do |node|
      File.write("#{PLACE}/node", report.to_json)
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  # The supervisor handles these even if nohup or a script's `&` has them ignored.
  %w[HUP INT QUIT].each { |name| Signal.trap(name, "DEFAULT") }
  must_find = lambda do |expected|
    %w[mold helper node].each do |role|
      found = JSON.parse(File.read("#{directory}/#{role}"))
      must("find in the #{role} #{expected}, not #{found}") { found == expected }
      File.unlink("#{directory}/#{role}")
    end
  end
  all_reported = -> { %w[mold helper node].all? { |role| File.size?("#{directory}/#{role}") } }
  place = "PLACE = #{directory.inspect}\n"
  ruby = [RbConfig.ruby, "-r", File.expand_path("../../load_path", __dir__)]
  plain = lambda do |before|
    JSON.parse(IO.popen([*ruby, "-e", "#{REPORT}#{before}; puts report.to_json"], &:read))
  end

  swarm = run_swarm(place + REPORT + SWARM)
  swarm.follow("all have reported") { all_reported.call }
  mold, node = %w[mold_ready node_ready].map { |name| swarm.await(name)["pid"] }
  %w[USR1 USR2 HUP].product([mold, node]) { |name, pid| swarm.kill(pid, name) }
  swarm.kill(node, :TTIN) # handled after those
  must("keep the node running") { swarm.await("node_backtraces")["pid"] == node }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  must("lose no process") do
    (swarm.events.map { |event| event["event"] } & %w[node_failed node_died mold_died]).empty?
  end
  must_find.call(plain.call(""))

  traps = "%w[TERM HUP USR1 USR2 WINCH].each { |name| Signal.trap(name, OWN) }"
  program = "require 'skep'\n#{place}#{REPORT}#{traps}\n#{SWARM}\nexit swarm.run"
  swarm = run_swarm("", under: [*ruby, "-e", program])
  swarm.follow("all have reported") { all_reported.call }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  must_find.call(plain.call(traps))
end
