# frozen_string_literal: true

# The application of `karafka server`. Karafka's documentation: configuration, routing, consuming
# messages.
require "karafka"
require_relative "tally"

class Worker < Karafka::BaseConsumer
  def consume
    case Tally.wish("work")
    when "payload" then messages.each { |message| message.raw_payload }
    when "json" then messages.each { |message| message.payload } # by default it parses JSON
    else messages.each { |message| Tally.work(message.raw_payload) }
    end
    Tally.add(messages.size)
  end
end

class KarafkaApp < Karafka::App
  setup do |config|
    config.kafka = Tally.settings.transform_keys(&:to_sym)
    config.client_id = "skep-bench"
    config.initial_offset = "earliest"
    config.max_messages = Tally.wish("batch") if Tally.wish("batch")
  end

  routes.draw do
    consumer_group(Tally.wish("group")) { topic(Tally.wish("topic")) { consumer Worker } }
  end
end
