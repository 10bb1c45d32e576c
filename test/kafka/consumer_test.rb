# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # A member of a group as far as the client goes, in this process.
    class ConsumerTest < ::KafkaCase
      # With a session that a busy machine hardly outlasts.
      COOPERATIVE = { "partition.assignment.strategy": "cooperative-sticky",
                      "session.timeout.ms": 6_000 }.freeze
      private_constant :COOPERATIVE

      def teardown
        @consumer&.close
        super
      end

      # librdkafka takes the first answer for all that is to be given up, and asks again all the
      # same: no thread takes a second one any more, and giving it may block forever.
      test "answers a rebalance once if it leaves during one" do
        broker(orders: 8)
        exclusive_lock, opener = IO.pipe
        other, = in_child { join_after(exclusive_lock) }
        join
        opener.write("o")
        wait_readable(consumer.control.io, 30)
        answers = 0
        left = consumer.leave(10) { |event| answers += 1 if answered?(event) }

        assert_equal [true, 1], [left, answers]
        Process.kill(:TERM, other)
        assert_predicate Process.wait2(other).last, :success?
      ensure
        [exclusive_lock, opener].compact.each(&:close)
      end

      test "returns the result of a seek for each partition" do
        broker(orders: 8)
        join
        error = assert_raises(LibrdkafkaError) { consumer.seek([["others", 0, 0]], 10) }

        assert_match(/rejected a seek/, error.message)
      end

      private

      def consumer
        @consumer ||= Consumer.new({ **@broker.settings.transform_keys(&:to_sym), **COOPERATIVE,
                                     "group.id": "readers" }
                                   .to_h { |name, value| [name.to_s, value.to_s] })
      end

      # Gets all partitions, and takes note of nothing from then on.
      def join
        consumer.subscribe(["orders"])
        held = []
        until held.size == 8
          consumer.control.wait(30) do |event|
            next unless event.kind == :rebalance

            held = event.list.keys
            consumer.assign(event.list)
          end
        end
        consumer.control.drain { |event| flunk(event.kind) if event.kind == :rebalance }
      end

      def answered?(event)
        event.kind == :rebalance && (consumer.unassign(event.list) || true)
      end

      def join_after(exclusive_lock)
        node = FakeNode.new
        trap("TERM") { node.stop! }
        exclusive_lock.read(1)
        kafka = { **@broker.settings.transform_keys(&:to_sym), **COOPERATIVE }
        Source.new(**options(kafka:)).run(node, proc {})
      end
    end
  end
end
