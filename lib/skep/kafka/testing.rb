# frozen_string_literal: true

# For tests of handlers: no broker, no fork, no waiting, and neither the gem karafka-rdkafka nor
# skep's C. Asked for by name, `require "skep/kafka/testing"`; plain objects, for Minitest, RSpec or
# whatever there is (docs/testing.md).
#
#   include Skep::Kafka
#   batch = Testing.batch("orders", ["a payload", { key: "k", payload: "another", headers: {} }])
#   child = Testing.child
#   handler.call(batch, child)          # the handler alone
#   child.events; child.produced
#
#   outcome = Testing.run(source, ["payload", …]) { |batch, child| … }   # as in a node: batches,
#   outcome.done; outcome.retried; outcome.dead_letters                # retries, dead letters
#
#   app = Testing.load("swarm.rb")      # what `skep run swarm.rb` would do
#   app.boot                            # its preload and on_boot blocks
#   app.work("orders").run(["payload"]) # => TestResult
#
# A message is a payload, a hash (topic, partition, offset, key, payload, headers, timestamp), or a
# Skep::Kafka::Message. Strings become binary, as they come from Kafka.
require "skep/swarm"
require "skep/kafka"

module Skep
  module Kafka
    module Testing
      class << self
        # A batch as a handler gets it. With a child, that one is told of what it gives out.
        #: (String, Array[untyped], ?partition: Integer, ?offset: Integer, ?child: untyped) -> Batch
        def batch(topic, messages, partition: 0, offset: 0, child: nil)
          stock = MessageFactory.new(topic:, partition:, offset:)
          Batch.new(topic, partition, messages.map { |one| stock.message(one) }).tap do |batch|
            child&.__given(batch)
          end
        end

        # A child that remembers what it is told.
        def child(...) = FakeChild.new(...) #: (**untyped) -> FakeChild

        # Has a node's worker do these messages with that source's options. What becomes of them: an
        # TestResult. Backoffs take no time. A batch that fails is tried again as often as the
        # source says, without a dead letter `retries` times; then all stops.
        #
        # Raises ConfigurationError where the options can't be, and what the handler raises that
        # isn't a StandardError (it would end the node).
        #: (Source, Array[untyped], ?child: FakeChild, ?retries: Integer) { (Batch, FakeChild)
        #:   -> void }
        #:   -> TestResult
        def run(source, messages, child: FakeChild.new, retries: 10, &handler)
          raise ArgumentError, "Testing.run takes the handler as its block" unless handler

          TestRun.new(source, messages, child:, retries:, handler:).run
        end

        # What a swarm file describes; runs nothing of it but the file itself. Raises Skep::Error
        # for a file that can't be run.
        def load(path) = SwarmFile.new(path) #: (String) -> SwarmFile
      end
    end
  end
end

require "skep/kafka/testing/message_factory"
require "skep/kafka/testing/fake_child"
require "skep/kafka/testing/fake_consumer"
require "skep/kafka/testing/fake_log"
require "skep/kafka/testing/fake_dead_letter_queue"
require "skep/kafka/testing/test_result"
require "skep/kafka/testing/test_run"
require "skep/kafka/testing/swarm_file"
