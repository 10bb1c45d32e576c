# frozen_string_literal: true

# The supervisor gets SIGKILL at a random moment: while the mold loads, between a fork and the
# node's first line, in a fork hook that hangs, during a boot, at work, during a restart or a stop.
# No process that it has started remains.
require_relative "scenario"

SOURCE = <<~'RUBY'
  Skep.swarm "any", nodes: 3, orphan_timeout: 0.5, boot_timeout: 100, max_restarts: 1_000_000 do |swarm|
    swarm.preload do
      spawn("sleep infinity")
      Skep.on_fork(child: -> { IO.select(nil) if rand(20).zero? }) # hangs before it is a node
    end
    swarm.on(:node_ready) { |_| spawn("sleep infinity") }
    swarm.on_boot { |_| IO.select(nil, nil, nil, rand * 0.05) }
    swarm.work do |node|
      system("sleep infinity &")
      node.ready!
      node.wait(rand * 0.2)
      raise "again" if rand(3).zero?
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  random = Random.new(seed = Random.new_seed)
  kill = lambda do |swarm|
    swarm.signal(:KILL)
  rescue Errno::ESRCH # TERM has ended it before
    nil
  end
  20.times do |round|
    swarm = run_swarm(SOURCE)
    moment = random.rand < 0.3 ? random.rand * 0.3 : random.rand * 1.2
    swarm.read(Skep::OS.now + moment) while moment > 0 && (moment -= 0.05)
    swarm.signal(:TERM) if random.rand(5).zero?
    kill.call(swarm)
    nothing_left(swarm, "round #{round}, seed #{seed}")
    swarm.close
  end
end
