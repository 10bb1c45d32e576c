# frozen_string_literal: true

# A swarm that stops after a crash loop, or because all work is done, behaves as after TERM. It logs
# `swarm_stopping` with the reason, its status is `stopping`, and changes are refused. A mold that
# dies meanwhile isn't replaced. A first TERM forces nothing.
require_relative "scenario"

# Node 1 waits for the file `held` before it exits.
SOURCE = <<~RUBY
  Skep.swarm "giving", nodes: 2, max_restarts: 2, on_crash_loop: :stop do |swarm|
    swarm.work do |node|
      node.ready!
      raise "no use" if node.id.zero?
      node.wait until node.stopping?
      File.read("\#{__dir__}/held")
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE, prepare: ->(directory) { File.mkfifo("#{directory}/held") })
  mold = swarm.await("mold_ready")["pid"]
  swarm.await("crash_loop")
  stopping = swarm.await("swarm_stopping", seconds: 5)
  must("publish the reason: #{stopping}") { stopping["reason"] == "gave_up" }
  state = swarm.status("giving")["state"]
  must("have the state stopping, not #{state}") { state == "stopping" }
  [%w[scale giving 3], %w[restart giving], %w[reload giving]].each do |command|
    why = swarm.skep(*command)
    must("refuse #{command}: #{why}") { why.to_s.include?("the swarm is stopping") }
  end
  swarm.kill(mold)
  swarm.await("mold_died")
  swarm.signal(:TERM)
  must("answer after the TERM") { swarm.status("giving")["state"] == "stopping" }

  File.open("#{swarm.directory}/held", "w", &:close) # once the node reads
  ended = swarm.wait
  must("end with 4: #{ended}; #{swarm.account}") { ended.exitstatus == 4 }
  must("force nothing") { swarm.events.none? { |event| event["event"] == "swarm_forced" } }
  molds = swarm.events.count { |event| event["event"] == "mold_ready" }
  must("start no other mold: #{molds}") { molds == 1 }

  done = run_swarm(<<~RUBY)
    Skep.swarm("done", nodes: 1, restart: :never) { |swarm| swarm.work(&:ready!) }
  RUBY
  ended = done.wait
  reason = done.events.find { |event| event["event"] == "swarm_stopping" }&.fetch("reason")
  must("publish the reason done: #{reason}, #{ended}") { [reason, ended.exitstatus] == ["done", 0] }
end
