# frozen_string_literal: true

require_relative "scenario"
require_relative "support/sasl_listener"

# If the broker refuses a topic, a group or a login at boot, skep exits with 78. Its error says what
# to grant and contains no password. A later refusal is logged with the same advice, and the node
# continues once the broker accepts it.
KafkaScenario.play do
  listener = SaslListener.new(broker)
  login = listener.login
  topic("orders", 2)
  refusal = lambda do |kafka|
    swarm = run_swarm(reader("orders", nodes: 1, kafka:))
    status = swarm.wait.exitstatus
    text = swarm.stderr
    must("exit with 78, not #{status}: #{text}") { status == 78 }
    must("print no password") { "#{swarm.events}#{text}" !~ /tiger-lily|orange-lily/ }
    text
  end
  text = refusal.call(login)
  must("name the refused topic: #{text}") do
    text =~ /refuses topic orders .*Grant this user READ and DESCRIBE/
  end
  listener.grant(SaslListener::TOPIC, "orders")
  text = refusal.call(login)
  must("name the refused group: #{text}") do
    text =~ /refuses consumer group readers .*Grant this user READ on it/
  end
  text = refusal.call(login.merge("sasl.password" => "orange-lily"))
  must("report the refused login: #{text}") do
    text =~ /refuses this user .*Correct security.protocol/
  end

  listener.grant(SaslListener::GROUP, "readers")
  topic("dead", 1)
  more = ", max_messages: 1, dead_letter_topic: 'dead', max_attempts: 1, retry_for: nil"
  body = "raise 'bad' if batch.first.key == '2'"
  swarm = run_swarm(reader("orders", nodes: 1, kafka: login, more:, body:))
  feed("orders", [["1", "v"]])
  await_keys(1)
  feed("orders", [["2", "v"]])
  must("report the missing grant for the dead letter topic") do
    error = swarm.await("handler_failed")["error"]
    error =~ /Can't deliver a message to dead .*this user may write/
  end
  listener.grant(SaslListener::TOPIC, "dead", SaslListener::WRITE)
  swarm.await("dead_lettered")

  listener.revoke(SaslListener::TOPIC, "orders")
  refused = swarm.await("kafka_unauthorized")
  must("advise which grant to add: #{refused}") do
    refused["hint"] =~ /Grant this user READ and DESCRIBE/
  end
  listener.grant(SaslListener::TOPIC, "orders")
  feed("orders", [["3", "v"]])
  await_keys(2)
  broker.reconfigure { |properties| properties.sub("tiger-lily", "orange-lily") }
  refused = swarm.await("kafka_unauthorized") { |event| event["code"] == "_AUTHENTICATION" }
  must("advise to correct the login: #{refused}") do
    refused["hint"] =~ /Correct security.protocol/
  end
  must("exit with 0") { swarm.stop.exitstatus.zero? }
  must("log no password") { swarm.events.to_s !~ /tiger-lily|orange-lily/ }
end
