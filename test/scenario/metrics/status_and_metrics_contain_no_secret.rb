# frozen_string_literal: true

# A node reports secrets in all that it can report: neither the status nor the metrics contain them.
# What is counted keeps its numbers in the supervisor, whatever its name.
require_relative "scenario"

MetricsScenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "leaky", nodes: 1, metrics: "127.0.0.1:0" do |swarm|
      swarm.work do |node|
        node.ready!
        node.unhealthy!("redis://u:hunter2@host is gone")
        node.work = { url: "redis://u:hunter2@host", rows: [{ password: "hunter2", "sasl.password" => 7 }],
                      "redis://u:hunter2@host" => 1, totals: { tokens: 3, done: 5 } }
        node.in_flight("password=hunter2")
        node.wait until node.stopping?
      end
    end
  RUBY
  address(swarm)
  swarm.await("node_ready", times: 2)
  work = nil
  swarm.follow("the node has reported: #{work}") do
    work = swarm.status("leaky")["nodes"].first["work"]
    work["url"]
  end
  must("redact the work: #{work}") do
    work["url"] == "redis://u:[secret]@host" &&
      work["totals"] == { "tokens" => "[secret]", "done" => 5 } &&
      work["rows"] == [{ "password" => "[secret]", "sasl.password" => "[secret]" }]
  end
  must("have no secret in the status") { !swarm.status("leaky").to_s.include?("hunter2") }
  must("have none in the metrics") { !page.include?("hunter2") }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
