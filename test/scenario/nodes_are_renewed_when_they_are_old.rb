# frozen_string_literal: true

# Each node lives for max_lifetime, give or take a tenth, and is renewed then: one after the other,
# each new one ready before the old one goes. An end of old age is no death.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "mortal", nodes: 4, max_lifetime: 1.5, max_restarts: 0 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  swarm.await("node_ready", times: 4)
  ends = swarm.await(GONE, times: 8)
  must("end every node, for that reason: #{ends}") do
    ends.map { |event| event["node"] }.tally.values_at(0, 1, 2, 3).all?(&:positive?) &&
      ends.all? { |event| event["reason"] == "max_lifetime" && event["exit_status"] == 0 }
  end
  going = 0
  most, least, working = 0, 4, 0
  swarm.events.each do |event|
    working += 1 if event["event"] == "node_ready"
    working -= 1 if GONE.include?(event["event"])
    going += { "node_replacing" => 1, "node_replaced" => -1 }.fetch(event["event"], 0)
    most = [most, going].max
    least = [least, working].min if GONE.include?(event["event"])
  end
  must("do it one by one: #{most}; #{swarm.account}") { most == 1 }
  must("keep all four at work: #{least}; #{swarm.account}") { least >= 4 }
  must("not take it for a crash") { swarm.events.none? { |one| one["event"] == "node_waiting" } }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
