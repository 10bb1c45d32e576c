# frozen_string_literal: true

# Nodes and mold are told of their supervisor's end by a SIGCONT. One that comes for another reason
# does nothing but what the application's own handler does: in a storm of them, after a SIGSTOP, at
# the death of a mold, in what a node forks. And a handler of the application's costs no protection.
require_relative "scenario"

SOURCE = HANG + <<~'RUBY'
  def heard(who) = File.write("#{__dir__}/#{who}.heard", "")

  Skep.swarm "cont", nodes: 3, orphan_timeout: 0.5 do |swarm|
    swarm.preload { Signal.trap("CONT") { heard("preload") } }
    swarm.on_boot { |node| Signal.trap("CONT") { heard("boot") } if node.id == 1 }
    swarm.work do |node|
      fork = fork { IO.select(nil) }
      node.ready!
      node.event(:here, fork:)
      node.wait(0.1) until node.stopping? || File.exist?("#{__dir__}/hang.#{node.id}")
      heard("hang#{node.id}") unless node.stopping?
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
    %w[preload boot].all? { |who| File.exist?("#{swarm.directory}/#{who}.heard") }
  end
  swarm.kill(mold)
  swarm.await("mold_ready")
  all.drop(1).each { |pid| swarm.kill(pid, :CONT) }
  must("end nobody; #{swarm.account}") do
    swarm.events.none? { |event| GONE.include?(event["event"]) } &&
      all.drop(1).all? { |pid| File.exist?("/proc/#{pid}") }
  end

  nodes.each { |event| File.write("#{swarm.directory}/hang.#{event["node"]}", "") }
  swarm.follow("all are stuck") { Dir.glob("#{swarm.directory}/hang?.heard").size == 3 }
  swarm.signal(:KILL)
  gone(all)
end
