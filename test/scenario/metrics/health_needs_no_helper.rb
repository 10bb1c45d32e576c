# frozen_string_literal: true

# The supervisor answers /healthz and /readyz: while an `on` block keeps the GVL of the helper for
# ten seconds, and while the helper is dead. /metrics waits for the helper.
require_relative "scenario"

MetricsScenario.play do
  swarm = run_swarm(<<~RUBY)
    require "fiddle"

    NAP = Fiddle::Function.new(Fiddle.dlopen(nil)["sleep"], [Fiddle::TYPE_INT], Fiddle::TYPE_INT,
                               need_gvl: true)
    Skep.swarm "blocked", nodes: 1, metrics: "127.0.0.1:0" do |swarm|
      swarm.on(:nap) do |facts|
        File.write("\#{__dir__}/begun", "")
        NAP.call(facts["seconds"] || facts[:seconds])
        File.write("\#{__dir__}/ended", "")
      end
      swarm.work do |node|
        node.ready!
        node.wait(0.1) until node.stopping? || File.exist?("\#{__dir__}/go")
        node.event(:nap, seconds: 10)
        node.wait until node.stopping?
      end
    end
  RUBY
  address(swarm)
  swarm.await("node_ready", times: 2)
  file = ->(name) { "#{swarm.directory}/#{name}" }
  must("serve metrics") { page.include?("skep_nodes") }
  File.write(file["go"], "")
  swarm.follow("the block begins") { File.exist?(file["begun"]) }

  waits = Thread.new { get("/metrics") }
  asked = 0
  seconds = probe("/healthz", [200, "swarm blocked is running\n"]) do
    must("be ready") { get("/readyz?nodes=all") == [200, "ready\n"] }
    (asked += 1) == 30
  end
  must("answer while the helper is blocked: #{seconds.last}") do
    !File.exist?(file["ended"]) && seconds[seconds.size / 2] < 0.1
  end
  must("let /metrics wait for the helper") { waits.alive? || File.exist?(file["ended"]) }
  must("serve metrics once the helper runs again") { waits.value.first == 200 }
  swarm.follow("the block ends") { File.exist?(file["ended"]) }

  helper = pid_of(swarm, "helper")
  swarm.kill(helper, :STOP)
  waits = Thread.new { get("/metrics") }
  must("answer while the helper is stopped") { get("/healthz").first == 200 }
  swarm.kill(helper)
  must("answer once it is dead") { get("/healthz").first == 200 }
  must("serve metrics by the next helper") { waits.value.first == 200 || page }
  must("stop with 0") { swarm.stop.exitstatus == 0 }
end
