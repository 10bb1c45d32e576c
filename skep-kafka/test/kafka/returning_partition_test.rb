# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Where a partition starts that is assigned to a node again, and what is redelivered.
    class ReturningPartitionTest < ::KafkaCase
      JOIN_GROUP = 11
      FENCED = 82
      private_constant :JOIN_GROUP, :FENCED

      test "starts at the committed offset after its session expired in an outage" do
        _, seen = play_and_lose(batch: 10)

        assert_equal [*numbers, *numbers, "last"], seen
        assert_empty redelivered
      end

      test "joins again under its instance id after the group has fenced it" do
        @fence = true
        events, seen = play_and_lose(kafka: { "group.instance.id" => "us" })

        assert_equal(%w[us-0], named(events, "kafka_member_fenced").map { |facts| facts[:name] })
        assert_empty named(events, "kafka_instance_id_taken")
        assert_equal "last", seen.last
      end

      test "waits for the batch in progress before the returned partition is processed" do
        broker(orders: 1)
        feed("orders", (0...6).map { |n| ["k", n.to_s] })
        back, @back = IO.pipe
        seen = []
        events = play({ **quick, max_messages: 3, max_wait: 60 },
                      on_event: method(:lose)) do |batch, node|
          seen << batch.payloads
          next node.stop! if seen.size > 1

          @broker.down!
          wait_readable(back)
        end

        assert_equal [%w[0 1 2], %w[0 1 2]], seen
        assert_equal 1, named(events, "kafka_revoked_in_flight").size
      ensure
        [back, @back].each(&:close)
      end

      test "commits what is done as soon as a broker answers again" do
        broker(orders: 1)
        feed("orders", [%w[k first]])
        found = nil
        long = @broker.settings.merge("session.timeout.ms" => 60_000)
        play({ kafka: long, commit_interval: 600 }, on_event: method(:come_back)) do |batch, node|
          @broker.down! if batch.payloads == %w[first]
          next unless batch.payloads == %w[last]

          found = committed_within(10)
          node.stop!
        end

        assert_equal 1, found
      end

      private

      def numbers = [*"0".."99"]

      # Loses the partitions after a hundred messages. Returns the events and the payloads.
      def play_and_lose(kafka: {}, batch: 500)
        broker(orders: 1)
        feed("orders", numbers.map { |text| ["k", text] })
        seen = []
        more = { **quick(kafka), commit_interval: 600, max_messages: batch }
        events = play(more, on_event: method(:lose)) do |some, node|
          seen.concat(some.payloads)
          @broker.down! if seen.size == 100
          node.stop! if seen.include?("last")
        end
        [events, seen]
      end

      # A short session timeout, but long enough for a busy machine.
      def quick(kafka = {})
        { kafka: @broker.settings.merge("session.timeout.ms" => 1_500,
                                        "reconnect.backoff.max.ms" => 100, **kafka) }
      end

      # Starts the broker again once the partitions are lost. Calls came_back once they are assigned
      # again.
      def lose(name, facts, _node)
        return unless name == "kafka_rebalance"

        @broker.fail_next(JOIN_GROUP, FENCED) if facts[:change] == "lost" && @fence
        @broker.up! if facts[:change] == "lost"
        came_back if facts[:change] == "assigned" && (@times = @times.to_i + 1) == 2
      end

      def came_back = @back ? @back.write("!") : feed("orders", [["k", "last"]])

      def come_back(name, _facts, _node)
        @broker.up! if name == "kafka_disconnected"
        feed("orders", [["k", "last"]]) if name == "kafka_reconnected"
      end

      # Returns the group's committed offset, once there is one.
      def committed_within(seconds)
        consumer = Consumer.new({ **@broker.settings.to_h { |*pair| pair.flatten.map(&:to_s) },
                                  "group.id" => "readers" })
        by = deadline(seconds)
        until (found = consumer.committed([["orders", 0]], 1.0)&.fetch(["orders", 0], nil))
          seconds_until(by)
        end
        found
      ensure
        consumer&.close
      end
    end
  end
end
