# frozen_string_literal: true

# Strange events, too much of them, garbage in the channel,
# facts that are no JSON: a node can hurt only itself.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "odd", nodes: 2, restarts: 100 do |swarm|
      swarm.work do |child|
        child.in_hand("http://" + "é" * 300)
        child.event(:odd, level: nil, nan: Float::NAN, bytes: "\\xFF")
        child.event(:huge, text: Array.new(2_000) { "x" * 16_000 })
        deep = []
        200.times { deep = [deep] }
        child.work = { deep: }
        300.times { |i| child.event(:many, i:) }
        child.ready!
        child.wait(0.2)
        if child.id == 1 && !File.exist?("\#{__dir__}/once")
          File.write("\#{__dir__}/once", "")
          ObjectSpace.each_object(BasicSocket) { |socket| socket.write("garbage that is no frame") unless socket.closed? }
        end
        child.wait until child.stopping?
      end
    end
  RUBY
  swarm.await("node_ready", times: 2)
  must("hear of odd facts") { swarm.await("odd")["nan"] == "NaN" }
  must("tell who talks nonsense") { swarm.await("node_garbled")["node"] == 1 }
  must("replace it") { swarm.await("node_died").values_at("node", "reason") == [1, "garbled"] }
  swarm.await("node_ready")
  must("answer about deep facts") { swarm.status("odd")["nodes"].size == 2 }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
