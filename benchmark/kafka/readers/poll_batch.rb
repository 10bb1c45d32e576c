# frozen_string_literal: true

# The gem karafka-rdkafka by its call for many messages, Consumer#poll_batch. It returns errors
# beside the messages.
require "rdkafka"
require_relative "tally"

WAIT = 1_000 # ms for the first message
LIMIT = { max_items: Tally.wish("batch") }.compact.freeze # by default the gem's own

settings = { **Tally.settings, "group.id": Tally.wish("group") }
consumer = Rdkafka::Config.new(settings.transform_keys(&:to_sym)).consumer
consumer.subscribe(Tally.wish("topic"))
loop do
  messages = consumer.poll_batch(WAIT, **LIMIT)
  next if messages.empty?

  messages.each do |message|
    raise message if message.is_a?(Rdkafka::RdkafkaError)

    Tally.work(message.payload)
  end
  Tally.add(messages.size)
end
