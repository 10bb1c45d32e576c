# frozen_string_literal: true

# The gem karafka-rdkafka as its README shows it: one message at a time. Each process is a member of
# the group.
require "rdkafka"
require_relative "tally"

def consume
  settings = { **Tally.settings, "group.id": Tally.wish("group") }
  consumer = Rdkafka::Config.new(settings.transform_keys(&:to_sym)).consumer
  consumer.subscribe(Tally.wish("topic"))
  consumer.each do |message|
    Tally.work(message.payload)
    Tally.add(1)
  end
end

# (A client of librdkafka must not cross a fork.)
Tally.wish("workers").times { fork { consume } }
Process.waitall
