# frozen_string_literal: true

# Nodes and mold get SIGCONT when their supervisor ends. Any other SIGCONT only runs the
# application's own handler: 500 of them, one after SIGSTOP, one at the death of a mold, one in a
# node's child. With such a handler nodes still end with their supervisor; without the C extension
# only those that aren't stuck, as their mold is dead, too.
require_relative "scenario"

SOURCE = HANG + <<~'RUBY'
  def note(event) = File.write("#{__dir__}/#{event}.noted", "")

  Skep.swarm "cont", nodes: 3, orphan_timeout: 0.5 do |swarm|
    swarm.preload { Signal.trap("CONT") { note("preload") } }
    swarm.on_boot { |node| Signal.trap("CONT") { note("boot") } if node.id == 1 }
    swarm.work do |node|
      fork = fork { IO.select(nil) }
      node.ready!
      node.event(:here, fork:)
      node.wait(0.1) until node.stopping? || File.exist?("#{__dir__}/hang.#{node.id}")
      note("hang#{node.id}") unless node.stopping?
      hang unless node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  nodes = swarm.await("here", times: 3)
  mold = swarm.await("mold_ready")["pid"]
  all = [mold, *nodes.flat_map { |event| event.values_at("pid", "fork") }]
  all.each { |pid| 500.times { swarm.kill(pid, :CONT) } }
  all.each { |pid| %i[STOP CONT].each { |name| swarm.kill(pid, name) } }
  %i[STOP CONT].each { |name| swarm.signal(name) }
  swarm.follow("the application's handlers are called") do
    %w[preload boot].all? { |name| File.exist?("#{swarm.directory}/#{name}.noted") }
  end
  swarm.kill(mold)
  swarm.await("mold_ready")
  all.drop(1).each { |pid| swarm.kill(pid, :CONT) }
  must("end no process; #{swarm.account}") do
    swarm.events.none? { |event| GONE.include?(event["event"]) } &&
      all.drop(1).all? { |pid| File.exist?("/proc/#{pid}") }
  end

  if Skep::OS.native?
    nodes.each { |event| File.write("#{swarm.directory}/hang.#{event["node"]}", "") }
    swarm.follow("all nodes are stuck") { Dir.glob("#{swarm.directory}/hang?.noted").size == 3 }
  end
  swarm.signal(:KILL)
  await_exit(all)
end
