# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # A Consumer without a source, in this process.
    class ConsumerTest < ::KafkaCase
      # The session timeout is long enough for a busy machine.
      COOPERATIVE = { "partition.assignment.strategy": "cooperative-sticky",
                      "session.timeout.ms": 6_000 }.freeze
      OFFSET_COMMIT = 8
      METADATA_TOO_LARGE = 12
      INVALID_COMMIT_OFFSET_SIZE = 28
      private_constant :COOPERATIVE, :OFFSET_COMMIT, :METADATA_TOO_LARGE,
                       :INVALID_COMMIT_OFFSET_SIZE

      def teardown
        @consumer&.close
        super
      end

      # librdkafka applies the first answer to all revoked partitions, but still emits a second
      # rebalance event. No thread takes a second answer any more, and giving one may block forever.
      test "leave answers a rebalance once if one is in progress" do
        broker(orders: 8)
        start, starter = IO.pipe
        other, = in_child { join_after(start) }
        join
        starter.write("o")
        wait_readable(consumer.control.io, 30)
        answers = 0
        left = consumer.leave(10) { |event| answers += 1 if answered?(event) }

        assert_equal [true, 1], [left, answers]
        Process.kill(:TERM, other)
        assert_predicate Process.wait2(other).last, :success?
      ensure
        [start, starter].compact.each(&:close)
      end

      test "a commit's metadata comes back with its offset, in any letters" do
        broker(orders: 2)
        assert_equal 0, consumer.commit([["orders", 0, 5, nil, "fünf"], ["orders", 1, 6]], 10)
        assert_equal [[5, "fünf"], [6, nil]], [committed(0), committed(1)]
      end

      test "commits without metadata once a broker has refused it" do
        broker(orders: 1)
        @broker.fail_next(OFFSET_COMMIT, METADATA_TOO_LARGE)
        assert_equal 0, consumer.commit([["orders", 0, 5, nil, "much"]], 10)
        assert_equal [5, nil], committed(0)
        assert_equal 0, consumer.commit([["orders", 0, 6, nil, "little"]], 10)
        assert_equal [6, nil], committed(0)
      end

      test "a commit of many partitions is several requests" do
        broker(orders: 250)
        @broker.fail_next(OFFSET_COMMIT, INVALID_COMMIT_OFFSET_SIZE)
        all = Array.new(250) { |number| ["orders", number, 5] }
        assert_equal INVALID_COMMIT_OFFSET_SIZE, consumer.commit(all, 10)
        found = consumer.committed_with_metadata(all.map { |entry| entry.first(2) }, 10)
        assert_equal (100...250).to_a, found.compact.keys.map(&:last)
      end

      test "tells a partition without a committed offset from one with an error" do
        broker(orders: 2)
        consumer.commit([["orders", 0, 5]], 10)
        found = consumer.committed([["orders", 0], ["orders", 1], ["orders", 99]], 10)
        assert_equal({ ["orders", 0] => 5, ["orders", 1] => nil }, found)
      end

      test "finds the first message for a time before 1970" do
        broker(orders: 1)
        feed("orders", [["k", "a", 0], ["k", "b", 0]])
        [-5, Rational(-1, 1000), Rational(-2, 1000)].each do |seconds|
          assert_equal 0, consumer.find(["orders", 0], Time.at(seconds), 10), seconds
        end
      end

      test "seek raises if librdkafka rejects the seek of a partition" do
        broker(orders: 8)
        join
        error = assert_raises(LibrdkafkaError) { consumer.seek([["others", 0, 0]], 10) }

        assert_match(/rejected a seek/, error.message)
      end

      private

      # Offset and metadata. (The leader epoch is the embedded broker's.)
      def committed(number)
        key = ["orders", number]
        consumer.committed_with_metadata([key], 10).fetch(key).values_at(0, 2)
      end

      def consumer
        @consumer ||= Consumer.new({ **@broker.settings.transform_keys(&:to_sym), **COOPERATIVE,
                                     "group.id": "readers" }
                                   .to_h { |name, value| [name.to_s, value.to_s] })
      end

      # Waits until all partitions are assigned. From then on no event is handled.
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

      def join_after(start)
        node = FakeNode.new
        trap("TERM") { node.stop! }
        start.read(1)
        kafka = { **@broker.settings.transform_keys(&:to_sym), **COOPERATIVE }
        Source.new(**options(kafka:)).run(node, proc {})
      end
    end
  end
end
