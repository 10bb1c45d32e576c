# frozen_string_literal: true

require_relative "scenario"
require "time"

# As somebody who comes from Karafka would write it: `max_attempts: 3`, each message marked. Of 200
# messages in four partitions two are bad. Both become dead letters within seconds, as the first
# messages of their batches; no other message does, and no partition waits for `retry_for`.
COUNT, PARTITIONS = 200, 4
BAD = [41, 102].freeze # in the partitions 1 and 2
LONGEST = 10.0 # seconds from the first failure until all is done, on a busy machine

KafkaScenario.play do
  topic = topic("orders", PARTITIONS)
  dead = topic("orders.dead", 1)
  body = "batch.each do |message| " \
         "raise ArgumentError, \"bad\" if #{BAD}.include?(message.key.to_i); " \
         "File.write(\"#{file}\", \"\#{node.id} \#{message.key}\\n\", mode: \"a\"); " \
         "batch.mark(message) end"
  swarm = run_swarm(<<~RUBY)
    require "skep/kafka"
    source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "#{broker.address}" },
                                     group: "readers", topics: "#{topic}", max_attempts: 3,
                                     dead_letter_topic: "#{dead}")
    Skep.swarm("readers", nodes: 1) { |swarm| swarm.work(source) { |batch, node| #{body} } }
  RUBY
  feed(topic, (0...COUNT).map { |n| [n.to_s, "v", n % PARTITIONS] })
  good = (0...COUNT).to_a - BAD
  swarm.await("handler_failed")
  since = Skep::OS.now
  swarm.follow("all good messages are handled") { keys.uniq.size >= good.size }
  swarm.follow("two dead letters") do
    swarm.events.count { |event| event["event"] == "dead_lettered" } >= BAD.size
  end
  took = Skep::OS.now - since
  puts format("set aside and done %.1f s after the first failure", took)
  must("take #{LONGEST} s at most, not #{took} s") { took <= LONGEST }
  must("handle each good message once") { keys.sort == good }
  letters = read(dead)
  must("dead-letter the two, and nothing else: #{letters}") { letters.size == BAD.size }
  attempts = swarm.events.select { |event| event["event"] == "dead_lettered" }
                  .map { |event| event["attempt"] }
  must("try each at least three times: #{attempts}") { attempts.min >= 3 }
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
