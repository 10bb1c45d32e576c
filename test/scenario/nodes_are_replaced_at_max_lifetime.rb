# frozen_string_literal: true

# Each node is replaced after max_lifetime, plus or minus a tenth. Nodes are replaced one by one,
# and each new node is ready before the old one stops. Such an exit doesn't count as a crash.
require_relative "scenario"

Scenario.play do
  swarm = run_swarm(<<~RUBY)
    Skep.swarm "limited", nodes: 4, max_lifetime: 1.5, max_restarts: 0 do |swarm|
      swarm.work { |node| node.ready!; node.wait until node.stopping? }
    end
  RUBY
  swarm.await("node_ready", times: 4)
  ends = swarm.await(GONE, times: 8)
  must("end every node with the reason max_lifetime: #{ends}") do
    ends.map { |event| event["node"] }.tally.values_at(0, 1, 2, 3).all?(&:positive?) &&
      ends.all? { |event| event["reason"] == "max_lifetime" && event["exit_status"] == 0 }
  end
  replacing = 0
  most, least, ready = 0, 4, 0
  swarm.events.each do |event|
    ready += 1 if event["event"] == "node_ready"
    ready -= 1 if GONE.include?(event["event"])
    replacing += { "node_replacing" => 1, "node_replaced" => -1 }.fetch(event["event"], 0)
    most = [most, replacing].max
    least = [least, ready].min if GONE.include?(event["event"])
  end
  must("replace nodes one by one: #{most}; #{swarm.account}") { most == 1 }
  must("keep four nodes ready: #{least}; #{swarm.account}") { least >= 4 }
  must("not count it as a crash") { swarm.events.none? { |one| one["event"] == "node_waiting" } }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
end
