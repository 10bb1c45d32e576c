# frozen_string_literal: true

require_relative "scenario"
require_relative "support/door"

# A topic, a group or a login that the broker refuses ends the boot with 78 and a sentence that says
# what to allow, and shows no password. One that comes later is told with the same advice and waited
# out.
KafkaScenario.play do
  door = Door.new(broker)
  login = door.login
  topic("orders", 2)
  refusal = lambda do |kafka|
    swarm = run_swarm(reader("orders", nodes: 1, kafka:))
    status = swarm.wait.exitstatus
    text = swarm.stderr
    must("end with 78, not #{status}: #{text}") { status == 78 }
    must("keep the password to itself") { "#{swarm.events}#{text}" !~ /tiger-lily|orange-lily/ }
    text
  end
  text = refusal.call(login)
  must("name the topic: #{text}") do
    text =~ /refuses topic orders .*Grant this user READ and DESCRIBE/
  end
  door.allow(Door::TOPIC, "orders")
  text = refusal.call(login)
  must("name the group: #{text}") do
    text =~ /refuses consumer group readers .*Grant this user READ on it/
  end
  text = refusal.call(login.merge("sasl.password" => "orange-lily"))
  must("name the login: #{text}") { text =~ /refuses this user .*Correct security.protocol/ }

  door.allow(Door::GROUP, "readers")
  topic("dead", 1)
  more = ", max_messages: 1, dead_letter_topic: 'dead', max_attempts: 1, retry_for: nil"
  body = "raise 'bad' if batch.first.key == '2'"
  swarm = run_swarm(reader("orders", nodes: 1, kafka: login, more:, body:))
  feed("orders", [["1", "v"]])
  await_keys(1)
  feed("orders", [["2", "v"]])
  must("say what the dead letter lacks") do
    error = swarm.await("handler_failed")["error"]
    error =~ /Can't deliver a message to dead .*this user may write/
  end
  door.allow(Door::TOPIC, "dead", Door::WRITE)
  swarm.await("dead_lettered")

  door.refuse(Door::TOPIC, "orders")
  told = swarm.await("kafka_unauthorized")
  must("advise: #{told}") { told["hint"] =~ /Grant this user READ and DESCRIBE/ }
  door.allow(Door::TOPIC, "orders")
  feed("orders", [["3", "v"]])
  await_keys(2)
  broker.reconfigure { |properties| properties.sub("tiger-lily", "orange-lily") }
  told = swarm.await("kafka_unauthorized") { |event| event["code"] == "_AUTHENTICATION" }
  must("advise: #{told}") { told["hint"] =~ /Correct security.protocol/ }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
  must("keep the passwords to itself") { swarm.events.to_s !~ /tiger-lily|orange-lily/ }
end
