# frozen_string_literal: true

require_relative "scenario"
require "rdkafka"

# A topic, a group or a login that the broker refuses ends the boot with 1 and a sentence that says
# what to allow, and shows no password. One that comes later is told with the same advice and waited
# out.
KafkaScenario.play do
  # Who comes without a login is a super user, so that the broker can talk to itself; "reader" may
  # do nothing.
  door = "127.0.0.1:#{broker.port + 2}"
  broker.reconfigure do |properties|
    more = { "listeners" => "SASL_PLAINTEXT://#{door}",
             "advertised.listeners" => "SASL_PLAINTEXT://#{door}",
             "listener.security.protocol.map" => "SASL_PLAINTEXT:SASL_PLAINTEXT" }
    more.each { |name, value| properties = properties.sub(/^#{name}=.*/) { "#{_1},#{value}" } }
    properties + <<~MORE
      sasl.enabled.mechanisms=PLAIN
      listener.name.sasl_plaintext.plain.sasl.jaas.config=\
      org.apache.kafka.common.security.plain.PlainLoginModule required user_reader="tiger-lily";
      authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
      super.users=User:ANONYMOUS
    MORE
  end
  topic("orders", 2)
  login = { "bootstrap.servers" => door, "security.protocol" => "sasl_plaintext",
            "sasl.mechanism" => "PLAIN", "sasl.username" => "reader",
            "sasl.password" => "tiger-lily" }
  refusal = lambda do |kafka|
    swarm = run_swarm(reader("orders", nodes: 1, kafka:))
    status = swarm.wait.exitstatus
    text = swarm.stderr
    must("end with 1, not #{status}: #{text}") { status == 1 }
    must("keep the password to itself") { "#{swarm.events}#{text}" !~ /tiger-lily|orange-lily/ }
    text
  end
  change = lambda do |verb, type, name, operation = 3|
    admin = Rdkafka::Config.new("bootstrap.servers" => broker.address).admin
    admin.public_send(verb, resource_type: type, resource_name: name, resource_pattern_type: 3,
                            principal: "User:reader", host: "*", operation:, permission_type: 3)
         .wait(max_wait_timeout: 15)
    admin.close
  end
  allow = change.curry(3)[:create_acl]
  refuse = change.curry(3)[:delete_acl]

  text = refusal.call(login)
  must("name the topic: #{text}") { text =~ /refuses topic orders .*allow READ and DESCRIBE/ }
  allow.call(2, "orders")
  text = refusal.call(login)
  must("name the group: #{text}") { text =~ /refuses consumer group readers .*allow READ on it/ }
  text = refusal.call(login.merge("sasl.password" => "orange-lily"))
  must("name the login: #{text}") { text =~ /refuses this user .*correct security.protocol/ }

  allow.call(3, "readers")
  topic("dead", 1)
  more = ", batch: 1, dead_letter: 'dead', attempts: 1"
  body = "raise 'bad' if batch.first.key == '2'"
  swarm = run_swarm(reader("orders", nodes: 1, kafka: login, more:, body:))
  feed("orders", [["1", "v"]])
  await_keys(1)
  feed("orders", [["2", "v"]])
  must("say what the dead letter lacks") do
    swarm.await("handler_failed")["error"] =~ /dead didn't take a message .* may this user write/
  end
  change[:create_acl, 2, "dead", 4]
  swarm.await("dead_lettered")

  refuse[2, "orders"]
  told = swarm.await("kafka_refused")
  must("advise: #{told}") { told["note"] =~ /allow READ and DESCRIBE/ }
  allow[2, "orders"]
  feed("orders", [["3", "v"]])
  await_keys(2)
  broker.reconfigure { |properties| properties.sub("tiger-lily", "orange-lily") }
  told = swarm.await("kafka_refused") { |event| event["code"] == "_AUTHENTICATION" }
  must("advise: #{told}") { told["note"] =~ /correct security.protocol/ }
  must("stop with 0") { swarm.stop.exitstatus.zero? }
  must("keep the passwords to itself") { swarm.events.to_s !~ /tiger-lily|orange-lily/ }
end
