# frozen_string_literal: true

require_relative "scenario"

# Without a broker the first boot exits with 75 after connect_timeout, so that systemd restarts it,
# also if boot_timeout is shorter.
# With connect_timeout: nil the swarm waits, even longer than boot_timeout, and reads once the
# broker answers.
KafkaScenario.play do
  topic("orders", 2)
  feed("orders", [%w[1 v]])
  broker.stop

  early = run_swarm(reader("orders", nodes: 2, more: ", connect_timeout: 1"))
  status = early.wait.exitstatus
  must("exit with 75, not #{status}: #{early.stderr}") do
    status == 75 && early.stderr =~ /\Askep: .*No broker of .* answered within 1 s/
  end

  early = run_swarm(reader("orders", nodes: 2, more: ", connect_timeout: 60",
                                     options: ", boot_timeout: 5"))
  status = early.wait.exitstatus
  must("exit with 75 before boot_timeout, too, not #{status}: #{early.stderr}") do
    status == 75 && early.stderr =~ /\Askep: .*No broker of .*; boot_timeout sets how long to wait/
  end

  swarm = run_swarm(reader("orders", nodes: 2, more: ", connect_timeout: nil",
                                     options: ", boot_timeout: 10"))
  unreachable = swarm.await("kafka_unreachable")
  must("log that it waits: #{unreachable}") do
    unreachable["hint"] == "skep waits until a broker answers"
  end
  swarm.await("node_ready", times: 2)
  swarm.follow_for(12)
  must("keep every node alive: #{swarm.account}") do
    swarm.events.none? { |event| GONE.include?(event["event"]) }
  end

  broker.start
  await_keys(1)
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
