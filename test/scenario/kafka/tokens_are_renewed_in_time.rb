# frozen_string_literal: true

# A broker demands tokens (OAUTHBEARER) that expire soon, and a new one for each connection that has
# lasted as long. A node's consumer and its producer renew them all along: no message is missed, and
# none waits long. The longest wait is printed. (SECONDS=600 TOKEN=30 for more.)
require_relative "scenario"
require_relative "support/door"

SECONDS_LONG = Float(ENV.fetch("SECONDS", "30"))
TOKEN = Float(ENV.fetch("TOKEN", "12")) # seconds that a token is good for
EACH = 0.1 # seconds between two messages

KafkaScenario.play do
  door = Door.new(broker, session: TOKEN.to_i)
  orders = topic("orders", 2)
  outputs = topic("outputs", 1)
  asked = File.join(directory, "asked")
  File.write(File.join(directory, "login.rb"), <<~RUBY)
    require #{File.expand_path("support/door", __dir__).inspect}
    TOKENS = lambda do
      File.write("#{asked}", "\#{Process.pid}\\n", mode: "a")
      Door.token("reader", #{TOKEN})
    end
  RUBY
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    require "#{directory}/login"
    kafka = { "bootstrap.servers": "#{door.address}", "security.protocol": "sasl_plaintext" }
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

  fed = 0
  deadline = Skep::OS.now + SECONDS_LONG
  seeder = Skep::Kafka::Testing::TopicSeeder.new(broker.address, orders, timeout: 60)
  while Skep::OS.now < deadline
    seeder.publish([["k", (fed += 1).to_s]])
    swarm.follow_for(EACH)
  end
  seeder.close
  await_keys(fed)
  waits = lines.map(&:to_f)
  times = File.readlines(asked, chomp: true).size
  must("ask for tokens again and again, not #{times} times") { times > SECONDS_LONG / TOKEN }
  refused = swarm.events.count { |one| one["event"] == "kafka_unauthorized" }
  must("stop with 0; #{swarm.account}") { swarm.stop.exitstatus == 0 }
  written = read(outputs).map { |one| one[:payload].to_i }.uniq.sort
  must("write each output") { written == [*1..fed] }
  must("have the lag for skep kafka lag") do
    facts = Skep::Kafka.lag("orders", { "bootstrap.servers": door.address,
                                        "security.protocol": "sasl_plaintext",
                                        oauth: -> { Door.token("reader", TOKEN) } })
    facts[:lag].zero?
  end
  puts "#{fed} messages in #{SECONDS_LONG} s, #{times} tokens of #{TOKEN} s; " \
       "the longest wait for a handler #{waits.max.round(2)} s, #{refused} refusals"
end
