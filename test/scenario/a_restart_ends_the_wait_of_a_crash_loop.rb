# frozen_string_literal: true

# A node dies at each boot, so skep waits ever longer before it starts it again. Once the cause is
# corrected, `skep restart`, `skep restart --node 0` and `skep reload` start it at once.
require_relative "scenario"

WAIT = 5.0 # seconds

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "loop", nodes: 2, max_restarts: 0 do |swarm|
      swarm.work do |node|
        exit!(7) if node.id.zero? && File.exist?("\#{__dir__}/bad")
        node.ready!
        node.wait until node.stopping?
      end
    end
  RUBY
  swarm.await("node_ready", times: 2)
  [%w[restart], %w[restart --node 0], %w[reload]].each do |command|
    File.write(File.join(swarm.directory, "bad"), "")
    swarm.kill(swarm.status("loop")["nodes"].first["pid"])
    waits = swarm.await("node_waiting") { |event| event["retry_in"] > WAIT }
    must("wait") { swarm.status("loop")["nodes"].first["state"] == "waiting" }
    File.unlink(File.join(swarm.directory, "bad"))
    swarm.skep(*command)
    ready = swarm.await("node_ready") { |event| event["node"].zero? }
    must("start it at once: #{command}, #{waits}, #{ready}") do
      ready["mono"] < waits["mono"] + waits["retry_in"]
    end
  end
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
