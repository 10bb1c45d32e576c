# frozen_string_literal: true

# With refork_after, a node that has processed enough becomes the mold, and new nodes inherit what
# it has warmed. All slots stay ready. If the warm mold dies, its nodes continue, and another mold
# boots from the file. A node with a connection or a thread is unfit: that is logged once, and the
# swarm continues. Without the C extension there is a warning instead, and the first mold stays.
require_relative "scenario"

WARM = <<~RUBY
  require "socket"
  Skep.swarm "warm", nodes: 3, refork_after: 30, max_restarts: 1000 do |swarm|
    swarm.preload { CACHE = {} }
    swarm.on_exit { |node| File.write("\#{__dir__}/exit.\#{Process.pid}", "") }
    swarm.work do |node|
      node.event(:begins, cached: CACHE.size)
      %<more>s
      node.ready!
      until node.stopping?
        CACHE[CACHE.size] = "x" * 100
        node.processed if node.mold.zero? # one refork only
        node.wait(0.005)
      end
    end
  end
RUBY

CONNECTION = '$server = TCPServer.new("127.0.0.1", 0); ' \
             '$open = TCPSocket.new("127.0.0.1", $server.addr[1])'
THREAD = "$thread = Thread.new { Thread.stop }"

Scenario.play do
  swarm = run_swarm(format(WARM, more: "nil"))
  next must_ignore_refork_after(swarm) unless Skep::OS.native?

  became = swarm.await("node_became_mold")
  swarm.await("refork_finished")
  nodes = swarm.status("warm")["nodes"]
  must("fork all nodes from it: #{nodes}") { nodes.map { |node| node["mold"] }.uniq == [1] }
  warmed = swarm.events.select { |event| event["event"] == "begins" && event["mold"] == 1 }
  must("let them inherit the cache: #{warmed}") do
    warmed.size == 3 && warmed.all? { |event| event["cached"] >= 30 }
  end
  must("run on_exit in the node first") { File.exist?("#{swarm.directory}/exit.#{became["pid"]}") }
  must("keep three nodes ready: #{swarm.least_ready(3)}") { swarm.least_ready(3) == 3 }

  mold = swarm.await("mold_ready") { |event| event["mold"] == nodes.first["mold"] }
  before = swarm.status("warm")["nodes"].map { |node| node["pid"] }
  swarm.kill(mold["pid"])
  swarm.await("mold_ready") { |event| event["mold"] > mold["mold"] }
  died = swarm.events.select { |event| GONE.include?(event["event"]) }
  lost = died.reject { |event| event["reason"] == "refork" }
  must("lose no node by this: #{lost}") { (before & lost.map { |event| event["pid"] }).empty? }
  must("stop with 0") { swarm.stop.exitstatus == 0 }

  { CONNECTION => /connect/, THREAD => /thread/ }.each do |more, why|
    swarm = run_swarm(format(WARM, more:))
    failed = swarm.await("refork_failed")
    must("publish the reason: #{failed}") { failed["error"].match?(why) }
    swarm.await("node_replaced")
    must("continue, after one warning") do
      nodes = swarm.status("warm")["nodes"]
      nodes.map { |node| node.values_at("state", "mold") } == [["ready", 0]] * 3 &&
        swarm.events.one? { |event| event["event"] == "refork_started" }
    end
    must("stop with 0") { swarm.stop.exitstatus == 0 }
  end
end
