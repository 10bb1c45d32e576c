# frozen_string_literal: true

# The supervisor is stopped (SIGSTOP) for longer than the liveness timeout, and resumed. Nodes that
# publish events meanwhile aren't blocked, and dead nodes are replaced. Clients get their answers,
# and no node is considered hung. (STOPPED=n seconds.)
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
  received = Hash.new(0)
  receive = -> { feed.read.each { |event| received[event["event"]] += 1 } }
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
    receive.call if feed.to_io.wait_readable(0.1)
    swarm.read(Skep::OS.now)
  end
  File.unlink("#{swarm.directory}/loud")
  must("not block nodes that publish: #{before}, then #{turns.call(0)} turns") do
    turns.call(0) > before + 10
  end
  swarm.signal(:CONT)

  swarm.await(GONE, times: 2)
  swarm.await("node_ready", times: 2)
  must("answer waiting clients") { asked.all? { |one| one.value["status"]["nodes"].size == 4 } }
  done = -> { feed.ended? || received.values_at("node_died", "node_ready") == [2, 2] }
  receive.call until done.call || !feed.to_io.wait_readable(10)
  must("send all events to the client, or count the lost ones: #{received}, #{feed.lost} lost") do
    feed.lost.positive? || received.values_at("node_died", "node_ready") == [2, 2]
  end
  feed.close
  hung = swarm.events.select { |event| event["event"] == "node_hung" }
  must("consider no node hung: #{hung}") { hung.empty? }
  left = swarm.status("talk")["nodes"].map { |node| node["pid"] }
  must("leave the others alone") { left.values_at(0, 3) == nodes.values_at(0, 3) }

  swarm.signal(:STOP) # TERM is pending when it resumes
  swarm.signal(:TERM)
  swarm.signal(:CONT)
  must("stop with 0; #{swarm.account}") { swarm.wait.exitstatus == 0 }
end
