# frozen_string_literal: true

# Tests handlers without a broker, forks or waits, and without the gem karafka-rdkafka or skep's C
# extension. Load it explicitly: `require "skep/kafka/testing"`. It works with Minitest, RSpec or
# any other framework (docs/guides/testing.md).
#
#   include Skep::Kafka
#   batch = Testing.batch("orders", ["a payload", { key: "k", payload: "another", headers: {} }])
#   node = Testing.node
#   handler.call(batch, node)          # calls the handler alone
#   node.events; node.produced
#
#   result = Testing.run(source, ["payload", …]) { |batch, node| … }   # as in a node: batches,
#   result.done; result.retried; result.dead_letters                    # retries, dead letters
#
#   app = Testing.load("swarm.rb")      # loads the file as `skep run swarm.rb` does
#   app.boot                            # runs its preload and on_boot blocks
#   app.work("orders").run(["payload"]) # => TestResult
#
# A message is a payload, a hash (topic, partition, offset, key, payload, headers, timestamp), or a
# Skep::Kafka::Message. Strings become binary, as from Kafka.
require "skep/swarm"
require "skep/kafka"

module Skep
  module Kafka
    module Testing
      class << self
        # Builds a batch. With a node, the batch reports to it what `each` yields. deserializer: as
        # the source's, gives the messages their values.
        def batch(topic, messages, partition: 0, offset: 0, node: nil, deserializer: nil)
          factory = MessageFactory.new(topic:, partition:, offset:)
          messages = messages.map { |one| factory.message(one) }
          messages = deserialize(messages, deserializer) if deserializer
          slice = Processing::Slice.new(topic, partition, messages)
          node ? node.__batch(slice) : Batch.new(slice)
        end

        # Builds a node that records calls.
        def node(...) = FakeNode.new(...)

        # Processes the messages as a node's worker does, with the source's options. Backoffs take
        # no time. A failing batch is retried as the source says; without a dead letter topic
        # `retries` times, then the run stops.
        #
        # Raises ConfigurationError for invalid options, and exceptions of the handler that
        # would end the node: SystemExit, signals, NoMemoryError.
        #
        # topic: of messages that don't say theirs; by default the first one that the source reads.
        # A source whose topics have handlers of their own needs no block.
        def run(source, messages, node: FakeNode.new, retries: 10, topic: nil, &handler)
          handler ||= source.handler
          raise ArgumentError, "Testing.run needs the handler as its block" unless handler

          handler = Swarm::Processes::RailsHook.wrap(handler, node)
          TestRun.new(source, messages, node:, retries:, topic:, handler:).run
        end

        # Loads a swarm file; runs no block of it. Raises Skep::Error for an invalid file.
        def load(path) = SwarmFile.new(path)

        private

        def deserialize(messages, deserializer)
          Processing::PayloadDeserializer.for(deserializer).call(messages)
        rescue Processing::PayloadDeserializer::Unreadable => e
          raise e.errors.each_value.first
        end
      end

      # Builds messages from payloads and hashes. Those without an offset get consecutive ones.
      #
      #   factory = MessageFactory.new(topic: "orders", partition: 0, offset: 0)
      #   factory.message("payload")                         # => Message orders/0/0
      #   factory.message({ key: "k", payload: "p" })        # => Message orders/0/1
      class MessageFactory
        FACTS = %i[topic partition offset key payload headers timestamp].freeze
        private_constant :FACTS

        def initialize(topic:, partition: 0, offset: 0)
          @topic = topic
          @partition = partition
          @first = offset
          @next = {}
        end

        # Returns a Message of a payload, of its facts, or of itself.
        def message(given)
          return given if given.is_a?(Message)

          facts = given.is_a?(Hash) ? given.transform_keys(&:to_sym) : { payload: given }
          unknown = facts.keys - FACTS
          raise ArgumentError, "a message has no field #{unknown.join(", ")}" if unknown.any?

          make(**facts)
        end

        private

        def make(topic: @topic, partition: @partition, offset: nil, key: nil, payload: nil,
                 headers: {}, timestamp: nil)
          offset ||= @next.fetch([topic, partition], @first)
          @next[[topic, partition]] = offset + 1
          headers = headers.to_h { |name, value| [name.to_s, binary(value)] }.freeze
          Message.new(topic, partition, offset, key&.to_s&.b, payload&.to_s&.b,
                      milliseconds(timestamp), headers)
        end

        def binary(value)
          value.is_a?(Array) ? value.map { |one| binary(one) } : value&.to_s&.b
        end

        def milliseconds(time)
          return -1 unless time

          time.is_a?(Time) ? (time.to_r * 1000).floor : time
        end
      end
    end
  end
end

require "skep/kafka/testing/fake_node"
require "skep/kafka/testing/fake_cluster"
require "skep/kafka/testing/test_run"
require "skep/kafka/testing/swarm_file"
