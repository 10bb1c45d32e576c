# frozen_string_literal: true

# `node.unhealthy!`: one report is logged and ends no node, if progress or `healthy!` follows, or
# if it is shouted 200 times. A node that says it again and again is replaced, even if it
# beats between; so is one that says it once and then neither makes progress nor takes it back.
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
      when 0 then node.unhealthy!("said once, then healthy") || node.healthy!
      when 1 then node.unhealthy!("said once, then a beat") || node.beat
      when 2
        200.times { node.unhealthy!("shouted") }
        node.beat
      when 3 # what an idle loop does that looks after its database
        until node.stopping?
          node.unhealthy!("said again and again")
          node.wait(0.3)
          node.beat
        end
      when 4 then node.unhealthy!("said once, for ever")
      when 5 # two spells of two reports
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
  must("replace who says it again and again, or for ever: #{verdicts}") do
    verdicts.sort == [[3, "repeated", "said again and again", "error"],
                      [4, "lasting", "said once, for ever", "error"]]
  end
  must("tell what they were doing") { judged.all? { |event| event["threads"] && event["tasks"] } }
  died = swarm.await(GONE, times: 2)
  must("end them gently, for that reason: #{died}") do
    died.all? { |event| event.values_at("exit_status", "reason") == [0, "unhealthy"] }
  end
  swarm.await("node_ready", times: 2) # although restart: :on_failure, and they ended with 0
  told = swarm.events.select { |event| event["event"] == "node_unhealthy" && !event["verdict"] }
  must("tell of each one's first report: #{told}") do
    (0..5).all? { |node| told.any? { |event| event["node"] == node && event["level"] == "warn" } }
  end
  shouted = told.count { |event| event["node"] == 2 } # one for each fifth of a second of shouting
  must("tell of the shouting once, or twice where it took long: #{shouted}") { shouted <= 2 }
  must("tell that it is over") { swarm.await("node_healthy") { |event| event["node"].zero? } }
  restarts = swarm.status("ill")["nodes"].map { |node| node["restarts"] }
  must("replace no other: #{restarts}") { restarts == [0, 0, 0, 1, 1, 0] }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
