# frozen_string_literal: true

# The application of `karafka swarm`, with a dead letter queue. With `commit` it waits for a commit
# after each message. Its documentation: the guides to the swarm mode, to offset management and to
# the dead letter queue.
require "karafka"
require_relative "handler"

class Worker < Karafka::BaseConsumer
  def consume
    messages.each do |message|
      handle(message.raw_payload)
      mark_as_consumed!(message) if Handler.wish("commit")
    end
  end

  private

  def handle(payload) = Handler.call(payload)
end

class KarafkaApp < Karafka::App
  setup do |config|
    config.kafka = Handler.settings.transform_keys(&:to_sym)
    config.client_id = "skep-bench"
    config.initial_offset = "earliest"
    config.swarm.nodes = WorkerApp.count
    WorkerApp.options.each do |name, value|
      (name == :shutdown_timeout ? config : config.internal.swarm).public_send(:"#{name}=", value)
    end
  end

  routes.draw do
    consumer_group(Handler.wish("group")) do
      topic(Handler.wish("topic")) do
        consumer Worker
        dead_letter_queue(topic: Handler.wish("dead"), max_retries: 2)
      end
    end
  end
end
