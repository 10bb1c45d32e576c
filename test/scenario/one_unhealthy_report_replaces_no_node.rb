# frozen_string_literal: true

# `node.unhealthy!`: one report is logged and ends no node, if progress or `healthy!` follows, or
# if it comes 200 times at once. A node that repeats the report over time is replaced, even if it
# beats between; so is one that reports once and then neither makes progress nor calls `healthy!`.
require_relative "scenario"

SOURCE = <<~RUBY
  Skep.swarm "ill", nodes: 6, liveness_timeout: 2, kill_timeout: 2, restart: :on_failure,
                    max_restarts: 100 do |swarm|
    swarm.work do |node|
      first = !File.exist?("\#{__dir__}/again\#{node.id}")
      File.write("\#{__dir__}/again\#{node.id}", "")
      node.ready!
      node.wait(0.1)
      case first && node.id
      when 0 then node.unhealthy!("once, then healthy") || node.healthy!
      when 1 then node.unhealthy!("once, then a beat") || node.beat
      when 2
        200.times { node.unhealthy!("in a burst") }
        node.beat
      when 3 # like an idle loop that checks its database
        until node.stopping?
          node.unhealthy!("again and again")
          node.wait(0.3)
          node.beat
        end
      when 4 then node.unhealthy!("once, for ever")
      when 5 # two periods of two reports
        2.times do
          2.times { node.unhealthy!("comes and goes") || node.wait(0.25) }
          node.healthy!
        end
      end
      node.wait until node.stopping?
    end
  end
RUBY

Scenario.play do
  swarm = run_swarm(SOURCE)
  swarm.await("node_ready", times: 6)
  judged = swarm.await("node_unhealthy", times: 2) { |event| event["verdict"] }
  verdicts = judged.map { |event| event.values_at("node", "verdict", "error", "level") }
  must("replace nodes that are unhealthy repeatedly or for long: #{verdicts}") do
    verdicts.sort == [[3, "repeated", "again and again", "error"],
                      [4, "lasting", "once, for ever", "error"]]
  end
  must("report what those nodes were doing") do
    judged.all? { |event| event["threads"] && event["tasks"] }
  end
  died = swarm.await(GONE, times: 2)
  must("end them with 0 and the reason unhealthy: #{died}") do
    died.all? { |event| event.values_at("exit_status", "reason") == [0, "unhealthy"] }
  end
  swarm.await("node_ready", times: 2) # although restart: :on_failure, and they ended with 0
  reports = swarm.events.select { |event| event["event"] == "node_unhealthy" && !event["verdict"] }
  must("log the first report of each node as a warning: #{reports}") do
    (0..5).all? do |node|
      reports.any? { |event| event["node"] == node && event["level"] == "warn" }
    end
  end
  burst = reports.count { |event| event["node"] == 2 } # at most one for each 0.2 s
  must("log the burst once, or twice if it took long: #{burst}") { burst <= 2 }
  must("publish node_healthy") { swarm.await("node_healthy") { |event| event["node"].zero? } }
  restarts = swarm.status("ill")["nodes"].map { |node| node["restarts"] }
  must("replace no other node: #{restarts}") { restarts == [0, 0, 0, 1, 1, 0] }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
