# frozen_string_literal: true

# The supervisor is stopped for a while (SIGSTOP) and resumed, longer than the liveness timeout:
# nodes that talk meanwhile aren't blocked, those that died are replaced, clients that asked are
# answered, and no node is taken for hung. (STOPPED=n seconds.)
require_relative "scenario"

Scenario.play do
  seconds = Float(ENV.fetch("STOPPED", "3"))
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "talk", nodes: 4, max_restarts: 100, liveness_timeout: 1 do |swarm|
      swarm.work do |node|
        node.ready!
        until node.stopping?
          talk = File.exist?("\#{__dir__}/loud") ? 100 : 1
          talk.times { node.event(:talk, text: "x" * 3_000) }
          node.processed
          File.write("\#{__dir__}/turns\#{node.id}", ".", mode: "a")
          node.wait(0.05)
        end
      end
    end
  RUBY
  nodes = swarm.await("node_ready", times: 4).to_h { |event| [event["node"], event["pid"]] }
  feed = swarm.follow_socket("talk")
  heard = Hash.new(0)
  hear = -> { feed.read.each { |event| heard[event["event"]] += 1 } }
  turns = ->(id) { File.size?("#{swarm.directory}/turns#{id}").to_i }

  swarm.signal(:STOP)
  File.write("#{swarm.directory}/loud", "")
  before = turns.call(0)
  control = File.join(swarm.directory, "talk.sock")
  asked = Array.new(3) { Thread.new { Skep::Control::Client.new(control).call("status") } }
  swarm.kill(nodes[1])
  swarm.kill(nodes[2])
  ends = Skep::OS.now + seconds
  while Skep::OS.now < ends
    hear.call if feed.to_io.wait_readable(0.1)
    swarm.read(Skep::OS.now)
  end
  File.unlink("#{swarm.directory}/loud")
  must("not block who talks: #{before}, then #{turns.call(0)} turns") do
    turns.call(0) > before + 10
  end
  swarm.signal(:CONT)

  swarm.await(GONE, times: 2)
  swarm.await("node_ready", times: 2)
  must("answer those who asked") { asked.all? { |one| one.value["status"]["nodes"].size == 4 } }
  done = -> { feed.ended? || heard.values_at("node_died", "node_ready") == [2, 2] }
  hear.call until done.call || !feed.to_io.wait_readable(10)
  must("tell who follows, or say how much it has missed: #{heard}, #{feed.lost} lost") do
    feed.lost.positive? || heard.values_at("node_died", "node_ready") == [2, 2]
  end
  feed.close
  hung = swarm.events.select { |event| event["event"] == "node_hung" }
  must("take nobody for hung: #{hung}") { hung.empty? }
  left = swarm.status("talk")["nodes"].map { |node| node["pid"] }
  must("leave the others alone") { left.values_at(0, 3) == nodes.values_at(0, 3) }

  swarm.signal(:STOP) # and what it finds when it wakes is TERM
  swarm.signal(:TERM)
  swarm.signal(:CONT)
  must("stop with 0; #{swarm.account}") { swarm.wait.exitstatus == 0 }
end
