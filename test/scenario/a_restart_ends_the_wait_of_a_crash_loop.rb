# frozen_string_literal: true

# A node dies at each boot, so skep waits ever longer before it starts it again. Once the cause is
# corrected, `skep restart`, `skep restart --node 0` and `skep reload` start one process of it at
# once. If the cause isn't corrected, `skep restart --node 0` fails with it.
#
# If all nodes wait, a reload tries the new code in one of them, and keeps the old code if that node
# can't start either. So it does if the old node dies while the new one boots.
require_relative "scenario"

WAIT = 10.0 # seconds, in which a command begins on a slow machine, too
COMMANDS = [%w[restart], %w[restart --node 0], %w[reload]].freeze

class CrashLoop < Scenario
  def begin_loop(swarm, ids)
    File.write(bad(swarm), "")
    ids.each { |id| swarm.kill(swarm.status("loop")["nodes"][id]["pid"]) }
    ids.map do |id|
      swarm.await("node_waiting") { |event| event["node"] == id && event["retry_in"] > WAIT }
    end
  end

  def bad(swarm) = File.join(swarm.directory, "bad")

  # boot: what the nodes do before they are ready.
  def source(nodes, boot)
    <<~RUBY
      Skep.swarm "loop", nodes: #{nodes}, max_restarts: 0 do |swarm|
        swarm.work do |node|
          #{boot}
          node.ready!
          node.wait until node.stopping?
        end
      end
    RUBY
  end

  def one_node_waits
    swarm = run_swarm(source(2, 'exit!(7) if node.id.zero? && File.exist?("#{__dir__}/bad")'))
    swarm.await("node_ready", times: 2)
    COMMANDS.each do |command|
      waits, = begin_loop(swarm, [0])
      starts_once(swarm, command, waits)
    end
    begin_loop(swarm, [0])
    output = swarm.skep("restart", "--node", "0")
    must("fail with the cause: #{output}") { output.to_s.include?("node 0 could not start: ") }
    File.unlink(bad(swarm))
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  end

  def starts_once(swarm, command, waits)
    must("wait") { swarm.status("loop")["nodes"].first["state"] == "waiting" }
    File.unlink(bad(swarm))
    before = swarm.nodes.size
    output = swarm.skep(*command)
    must("succeed: #{command}, #{output}") { output.nil? }
    ready = swarm.await("node_ready") { |event| event["node"].zero? }
    must("start it at once: #{command}, #{waits}, #{ready}") do
      ready["mono"] < waits["mono"] + waits["retry_in"]
    end
    renewed = command.one? ? 2 : 1 # the other node, too
    must("fork each node once: #{command}, #{swarm.account}") do
      swarm.nodes.size == before + renewed
    end
  end

  def all_nodes_wait
    old = 'exit!(7) if File.exist?("#{__dir__}/bad")'
    swarm = run_swarm(source(2, old))
    swarm.await("node_ready", times: 2)
    begin_loop(swarm, [0, 1])
    File.write(swarm_file(swarm), source(2, "exit!(8)"))
    fails_to_reload(swarm, "exit status 8")
    File.write(swarm_file(swarm), source(2, ""))
    output = swarm.skep("reload")
    must("adopt code that works: #{output}") { output.nil? }
    swarm.await("node_ready", times: 2) { |event| event["mold"] == 2 }
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  end

  def the_old_node_dies_meanwhile
    swarm = run_swarm(source(1, ""))
    old = swarm.await("node_ready")["pid"]
    go = File.join(swarm.directory, "go")
    File.mkfifo(go)
    File.write(swarm_file(swarm), source(1, "File.read(#{go.inspect})\n    exit!(8)"))
    reload = Thread.new { fails_to_reload(swarm, "exit status 8") }
    swarm.await("node_forked") { |event| event["mold"] == 1 }
    swarm.kill(old)
    swarm.await("node_died") { |event| event["pid"] == old }
    File.write(go, "")
    reload.join
    swarm.await("node_ready") { |event| event["mold"].zero? }
    must("stop with 0") { swarm.stop.exitstatus.zero? }
  end

  def swarm_file(swarm) = File.join(swarm.directory, "swarm.rb")

  def fails_to_reload(swarm, cause)
    output = swarm.skep("reload")
    must("fail with the cause: #{output}") { output.to_s.include?(cause) }
  end
end

CrashLoop.play do
  one_node_waits
  all_nodes_wait
  the_old_node_dies_meanwhile
end
