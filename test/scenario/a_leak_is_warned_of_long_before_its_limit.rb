# frozen_string_literal: true

# A node that leaks is told of when it has room left for as long as it has leaked. One whose heap
# goes up and down isn't, nor one that has filled its caches after the boot.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "slow", nodes: 3, memory_limit: "400M" do |swarm|
      swarm.work do |child|
        child.ready!
        kept = []
        turns = 0
        until child.stopping?
          turns += 1
          case child.id
          when 0 then kept << ("y" * (1 << 20))
          when 1 then (turns % 8).zero? ? kept.clear && GC.start : kept << ("y" * (4 << 20))
          when 2 then kept << ("y" * (8 << 20)) if turns < 20
          end
          child.wait(0.1)
        end
      end
    end
  RUBY
  swarm.await("node_ready", times: 3)
  leak = swarm.await("node_leaking", seconds: 120.0)
  # 10 MiB a second at the most, measured over five stretches: one look may be a fifth off.
  must("name the node that leaks, how fast, and how long it has: #{leak}") do
    leak["node"].zero? && leak["rate"].between?(2 << 20, 13 << 20) && leak["seconds"] > 5 &&
      leak["bytes"].between?(10 << 20, 300 << 20)
  end
  must("do it before the limit") { swarm.events.none? { |one| one["event"] == "node_over_limit" } }
  began = Skep::OS.now
  swarm.follow("it is watched for a while") { Skep::OS.now > began + 5 }
  must("name no other") do
    swarm.events.select { |one| one["event"] == "node_leaking" }.all? { |one| one["node"].zero? }
  end
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
