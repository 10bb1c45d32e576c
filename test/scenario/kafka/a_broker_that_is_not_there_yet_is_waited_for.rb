# frozen_string_literal: true

require_relative "scenario"

# A first boot without a broker ends with 75 after connect_timeout, so that systemd starts it again.
# With connect_timeout: nil the swarm waits, past boot_timeout too, and works once the broker is
# there.
KafkaScenario.play do
  topic("orders", 2)
  feed("orders", [%w[1 v]])
  broker.stop

  early = run_swarm(reader("orders", nodes: 2, more: ", connect_timeout: 1"))
  status = early.wait.exitstatus
  must("end with 75, not #{status}: #{early.stderr}") do
    status == 75 && early.stderr =~ /\Askep: .*No broker of .* answered within 1 s/
  end

  swarm = run_swarm(reader("orders", nodes: 2, more: ", connect_timeout: nil",
                                     options: ", boot_timeout: 10"))
  told = swarm.await("kafka_unreachable")
  must("say that it waits: #{told}") { told["hint"] == "skep waits until a broker answers" }
  swarm.await("node_ready", times: 2)
  swarm.follow_for(12)
  must("lose no node: #{swarm.account}") { swarm.events.none? { |e| GONE.include?(e["event"]) } }

  broker.start
  await_keys(1)
  must("stop with 0") { swarm.stop.exitstatus.zero? }
end
