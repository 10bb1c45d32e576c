# frozen_string_literal: true

# The log goes to a pipe that is full, then to a pipe without a reader (SIGPIPE, EPIPE). Nodes are
# still replaced, lost lines are counted and reported, and TERM stops the swarm.
require_relative "scenario"

class Scenario
  # Kills a node several times and follows the control socket, without reading the log.
  def kill_unread(swarm, times)
    feed = swarm.follow_socket("loud")
    times.times do |number|
      swarm.kill(swarm.status("loud")["nodes"][number % 2]["pid"])
      await_event(feed) { |event| event["event"] == "node_ready" }
    end
    must("send every event to the client: #{feed.lost}") { feed.lost.zero? }
  ensure
    feed&.close
  end

  def await_event(feed, &block)
    deadline = Skep::OS.now + SECONDS
    until feed.read.any?(&block)
      waited = feed.to_io.wait_readable([deadline - Skep::OS.now, 0].max)
      raise Failed, "no such event within #{SECONDS} s" if !waited || feed.ended?
    end
  end
end

LOUD = <<~RUBY
  Skep.swarm "loud", nodes: 2, max_restarts: 1_000_000 do |swarm|
    swarm.work do |node|
      600.times { node.event(:loud, text: "x" * 1_000) } # more than a pipe and the backlog hold
      node.ready!
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(LOUD)
  swarm.await("node_ready", times: 2)
  kill_unread(swarm, 10)
  nil while swarm.read(Skep::OS.now + 0.5) # empties the pipe
  kill_unread(swarm, 1)
  lost = -> { swarm.events.sum { |event| event["lost_lines"].to_i } }
  swarm.follow("the log reports all lost lines") { lost.call > 1_000 }

  swarm.stop_reading
  kill_unread(swarm, 10)
  must("stop with 0; #{swarm.stderr}") { swarm.stop.exitstatus == 0 }
end
