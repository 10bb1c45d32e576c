# frozen_string_literal: true

# What the supervisor and the mold do with signals is nothing to what they start: nodes, the helper
# and the processes of each have the handlers, the mask and the ignored signals of any program; in a
# program that became a supervisor, that program's own. USR1, USR2 and HUP, sent to all processes,
# are taken by the supervisor alone.
require_relative "scenario"

# What a process and its children find: `handlers` of those signals that aren't a node's, those of a
# `forked` child of all signals, what the kernel says of an `executed` one.
ASK = <<~'RUBY'
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
  def asked = { handlers: handlers(OTHERS), forked:, executed: }
RUBY

SWARM = <<~'RUBY'
  swarm = Skep.swarm "traps", nodes: 1 do |described|
    described.preload { File.write("#{PLACE}/mold", asked.to_json) }
    described.on(:node_ready) { |_| File.write("#{PLACE}/helper", asked.to_json) }
    described.work do |node|
      File.write("#{PLACE}/node", asked.to_json)
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  # What nohup or a script's `&` had us ignore: the supervisor listens to it all the same.
  %w[HUP INT QUIT].each { |name| Signal.trap(name, "DEFAULT") }
  must_find = lambda do |expected|
    %w[mold helper node].each do |who|
      found = JSON.parse(File.read("#{directory}/#{who}"))
      must("find in the #{who} #{expected}, not #{found}") { found == expected }
      File.unlink("#{directory}/#{who}")
    end
  end
  all_told = -> { %w[mold helper node].all? { |who| File.size?("#{directory}/#{who}") } }
  place = "PLACE = #{directory.inspect}\n"
  ruby = [RbConfig.ruby, "-I", File.expand_path("../../lib", __dir__)]
  plain = lambda do |before|
    JSON.parse(IO.popen([*ruby, "-e", "#{ASK}#{before}; puts asked.to_json"], &:read))
  end

  swarm = run_swarm(place + ASK + SWARM)
  swarm.follow("all have told") { all_told.call }
  mold, node = %w[mold_ready node_ready].map { |name| swarm.await(name)["pid"] }
  %w[USR1 USR2 HUP].product([mold, node]) { |name, pid| swarm.kill(pid, name) }
  swarm.kill(node, :TTIN) # handled after those
  must("outlive them") { swarm.await("node_backtraces")["pid"] == node }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  must("lose nobody") do
    (swarm.events.map { |event| event["event"] } & %w[node_failed node_died mold_died]).empty?
  end
  must_find.call(plain.call(""))

  traps = "%w[TERM HUP USR1 USR2 WINCH].each { |name| Signal.trap(name, OWN) }"
  program = "require 'skep'\n#{place}#{ASK}#{traps}\n#{SWARM}\nexit swarm.run"
  swarm = run_swarm("", under: [*ruby, "-e", program])
  swarm.follow("all have told") { all_told.call }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
  must_find.call(plain.call(traps))
end
