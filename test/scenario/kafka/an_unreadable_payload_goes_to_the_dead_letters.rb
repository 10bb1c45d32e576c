# frozen_string_literal: true

require_relative "scenario"

# Some payloads aren't JSON. The handler never gets these messages: skep writes them unchanged to
# the dead letter topic. The other messages of their partitions are handled in order.
KafkaScenario.play do
  topic = topic("orders", 4)
  dead = topic("orders.dead", 1)
  swarm = run_swarm(reader(topic, more: ", deserializer: :json, dead_letter_topic: \"#{dead}\"",
                                  body: "batch.each { |message| Integer(message.value[\"n\"]) }"))
  feed(topic, (0...2_000).map { |n| [n.to_s, "{\"n\":#{n}#{"}" unless (n % 50).zero?}", n % 4] })
  good = (0...2_000).reject { |n| (n % 50).zero? }
  await_keys(good.size)
  must("handle no other message") { keys.uniq.sort == good }
  must("keep the order of each partition") do
    keys.group_by { |n| n % 4 }.values.all? { |some| some == some.sort }
  end
  consumer, found = rdkafka_consumer(dead, 0, "enable.partition.eof" => true), []
  read_to_end(consumer) { |message| found << message }
  consumer.close
  must("write each unreadable message to the dead letter topic") do
    found.map { |message| message.key.to_i }.sort == (0...2_000).step(50).to_a
  end
  must("write it unchanged, with the reason") do
    found.all? do |one|
      one.payload == "{\"n\":#{one.key}" && one.headers["skep.error"].include?("isn't JSON")
    end
  end
  must("exit with 0") { swarm.stop.exitstatus.zero? }
end
