# frozen_string_literal: true

# Tests handlers without a broker, forks or waits, and without the gem karafka-rdkafka or skep's C
# extension. Load it explicitly: `require "skep/kafka/testing"`. It works with Minitest, RSpec or
# any other framework (docs/testing.md).
#
#   include Skep::Kafka
#   batch = Testing.batch("orders", ["a payload", { key: "k", payload: "another", headers: {} }])
#   child = Testing.child
#   handler.call(batch, child)          # calls the handler alone
#   child.events; child.produced
#
#   result = Testing.run(source, ["payload", …]) { |batch, child| … }   # as in a node: batches,
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
        # Builds a batch. With a child, the batch reports to it what `each` yields.
        #: (String, Array[untyped], ?partition: Integer, ?offset: Integer, ?child: untyped) -> Batch
        def batch(topic, messages, partition: 0, offset: 0, child: nil)
          factory = MessageFactory.new(topic:, partition:, offset:)
          Batch.new(topic, partition, messages.map { |one| factory.message(one) }).tap do |batch|
            child&.__given(batch)
          end
        end

        # Builds a child that records calls.
        def child(...) = FakeChild.new(...) #: (**untyped) -> FakeChild

        # Processes the messages as a node's worker does, with the source's options. Backoffs take
        # no time. A failing batch is retried as the source says; without a dead letter topic
        # `retries` times, then the run stops.
        #
        # Raises ConfigurationError for invalid options, and exceptions of the handler that aren't
        # StandardErrors (they would end the node).
        #: (Source, Array[untyped], ?child: FakeChild, ?retries: Integer) { (Batch, FakeChild)
        #:   -> void }
        #:   -> TestResult
        def run(source, messages, child: FakeChild.new, retries: 10, &handler)
          raise ArgumentError, "Testing.run takes the handler as its block" unless handler

          TestRun.new(source, messages, child:, retries:, handler:).run
        end

        # Loads a swarm file; runs no block of it. Raises Skep::Error for an invalid file.
        def load(path) = SwarmFile.new(path) #: (String) -> SwarmFile
      end
    end
  end
end

require "skep/kafka/testing/message_factory"
require "skep/kafka/testing/fake_child"
require "skep/kafka/testing/fake_cluster"
require "skep/kafka/testing/test_run"
require "skep/kafka/testing/swarm_file"
