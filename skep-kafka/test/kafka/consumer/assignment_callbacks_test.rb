# frozen_string_literal: true

require "kafka/support/kafka_case"
require "skep/kafka/testing"

module Skep
  module Kafka
    # on_assigned, on_revoked, and the Hash that they share with the handler.
    class AssignmentCallbacksTest < ::KafkaCase
      test "a partition keeps its state Hash from its assignment to its revocation" do
        broker(orders: 2)
        feed("orders", [["k", "a", 0], ["k", "b", 1]])
        calls = []
        seen = []
        play(callbacks(calls)) do |batch, node|
          batch.state[:seen] = batch.payloads
          seen << batch.state[:since]
          node.stop! if seen.size == 2
        end

        assert_equal [["orders", 0], ["orders", 1]], seen.sort
        assert_equal [[:assigned, 0, nil], [:assigned, 1, nil],
                      [:revoked, 0, %w[a]], [:revoked, 1, %w[b]]], calls.sort
      end

      test "reports an exception of on_revoked, and commits the partition's offset" do
        broker(orders: 1)
        feed("orders", [%w[k a]])
        raising = ->(_topic, _partition, _state) { raise IOError, "no disk" }
        events = play({ on_revoked: raising }) { |_, node| node.stop! }

        assert_equal [["on_revoked", "orders", 0, "IOError: no disk"]],
                     (named(events, "hook_failed").map do |facts|
                       facts.values_at(:hook, :topic, :partition, :error)
                     end)
        assert_empty redelivered
      end

      test "an exception of on_revoked that isn't a StandardError loses no commit" do
        broker(orders: 1)
        feed("orders", [%w[k a]])
        raising = ->(_topic, _partition, _state) { raise SecurityError, "no" }
        play({ on_revoked: raising }) { |_, node| node.stop! }

        assert_empty redelivered
      end

      test "an exception of on_assigned ends the node, and its messages aren't processed" do
        broker(orders: 1)
        feed("orders", [%w[k a]])
        raising = ->(_topic, _partition, _state) { raise IOError, "no database" }
        revoked = []
        on_revoked = ->(_topic, partition, _state) { revoked << partition }

        assert_raises(IOError) { play({ on_assigned: raising, on_revoked: }) { |_| flunk } }
        assert_empty revoked
        assert_equal %w[a], payloads_of("orders", 1)
      end

      test "each assignment of a partition has its own state Hash" do
        broker(orders: 1)
        feed("orders", [%w[k a]])
        states = []
        2.times do
          play({ on_assigned: ->(_, _, state) { states << state } }) do |batch, node|
            batch.state[:seen] = true
            node.stop!
          end
          feed("orders", [%w[k b]])
        end

        assert_equal 2, states.map(&:object_id).uniq.size
      end

      test "a test run calls the callbacks, and Testing.batch returns a batch with a state Hash" do
        source = Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "orders",
                            **callbacks(calls = []))
        Testing.run(source, %w[a b]) { |batch, _| batch.state[:seen] = batch.payloads }

        assert_equal [[:assigned, 0, nil], [:revoked, 0, %w[a b]]], calls
        batch = Testing.batch("orders", %w[a])
        batch.state[:x] = 1

        assert_equal({ x: 1 }, batch.state)
      end

      private

      def callbacks(calls)
        on_assigned = lambda do |topic, partition, state|
          calls << [:assigned, partition, state[:seen]]
          state[:since] = [topic, partition]
        end
        on_revoked = ->(_topic, partition, state) { calls << [:revoked, partition, state[:seen]] }
        { on_assigned:, on_revoked: }
      end
    end
  end
end
