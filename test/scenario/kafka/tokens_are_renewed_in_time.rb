# frozen_string_literal: true

# A broker with OAUTHBEARER accepts tokens of a short lifetime, and makes connections of that age
# log in again. A node's consumer and its producer renew their tokens in time. No message is missed.
# The longest wait of a message is printed. (SECONDS=600 TOKEN=30 for more.)
require_relative "scenario"
require_relative "support/sasl_listener"

SECONDS_LONG = Float(ENV.fetch("SECONDS", "30"))
TOKEN = Float(ENV.fetch("TOKEN", "12")) # seconds for which a token is valid
EACH = 0.1 # seconds between two messages

KafkaScenario.play do
  listener = SaslListener.new(broker, session: TOKEN.to_i)
  orders = topic("orders", 2)
  outputs = topic("outputs", 1)
  requests = File.join(directory, "requests")
  File.write(File.join(directory, "login.rb"), <<~RUBY)
    require #{File.expand_path("support/sasl_listener", __dir__).inspect}
    TOKENS = lambda do
      File.write("#{requests}", "\#{Process.pid}\\n", mode: "a")
      SaslListener.token("reader", #{TOKEN})
    end
  RUBY
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    require "#{directory}/login"
    kafka = { "bootstrap.servers": "#{listener.address}", "security.protocol": "sasl_plaintext" }
    source = Skep::Kafka::Source.new(kafka:, group: "orders", topics: "#{orders}", oauth: TOKENS)
    Skep.swarm "orders", nodes: 1, liveness_timeout: 60 do |swarm|
      swarm.work(source) do |batch, node|
        batch.each { |message| node.producer.produce("#{outputs}", message.payload) }
        now = Time.now.to_f
        lines = batch.map { |one| "\#{now - one.timestamp.to_f} \#{one.payload}\\n" }
        File.write("#{file}", lines.join, mode: "a")
      end
    end
  RUBY
  swarm.await("kafka_rebalance") { |event| event["partitions"].any? }

  produced = 0
  deadline = Skep::OS.now + SECONDS_LONG
  seeder = Skep::Kafka::Testing::TopicSeeder.new(broker.address, orders, timeout: 60)
  while Skep::OS.now < deadline
    seeder.publish([["k", (produced += 1).to_s]])
    swarm.follow_for(EACH)
  end
  seeder.close
  await_keys(produced)
  waits = lines.map(&:to_f)
  times = File.readlines(requests, chomp: true).size
  must("request new tokens repeatedly, not #{times} times") { times > SECONDS_LONG / TOKEN }
  refused = swarm.events.count { |one| one["event"] == "kafka_unauthorized" }
  must("exit with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  written = read(outputs).map { |one| one[:payload].to_i }.uniq.sort
  must("write each output") { written == [*1..produced] }
  must("return no lag from Skep::Kafka.lag with tokens") do
    facts = Skep::Kafka.lag("orders", { "bootstrap.servers": listener.address,
                                        "security.protocol": "sasl_plaintext",
                                        oauth: -> { SaslListener.token("reader", TOKEN) } })
    facts[:lag].zero?
  end
  puts "#{produced} messages in #{SECONDS_LONG} s, #{times} tokens of #{TOKEN} s; " \
       "the longest wait for a handler #{waits.max.round(2)} s, #{refused} refusals"
end
