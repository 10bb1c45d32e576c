# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Offsets that aren't in the log any more. The embedded broker keeps 5 MiB of a partition.
    class ResetTest < ::KafkaCase
      test "reports messages that retention deleted before they were read" do
        leave_behind
        first = nil
        events = play(silent) do |batch, node|
          first ||= batch.first_offset
          node.stop!
        end

        assert_equal [[1, "beginning"]], resets(events)
        assert_equal [[1, first - 1, first - 1]], losses(events)
      end

      test "reports messages that were deleted while a handler was busy" do
        broker(orders: 1)
        feed("orders", [%w[k first]])
        offsets = []
        events = play(silent("queued.min.messages" => 1)) do |batch, node|
          fill if offsets.empty?
          offsets.concat(batch.map(&:offset))
          node.stop! if batch.payloads.last == "last"
        end

        assert_equal offsets.last + 1 - offsets.size, losses(events).sum(&:last)
        refute_empty losses(events)
      end

      test "reports nothing when the offset is in the log" do
        broker(orders: 1)
        feed("orders", [%w[k first]])
        commit_all

        assert_empty redelivered
        feed("orders", [%w[k more]])
        events = play { |_, node| node.stop! }
        assert_empty resets(events) + losses(events)
      end

      private

      # Makes a group that has processed one message, and whose next message is deleted.
      def leave_behind
        broker(orders: 1)
        feed("orders", [%w[k first]])
        commit_all
        fill
      end

      def commit_all = play { |_, node| node.stop! }

      # Writes more than the broker keeps.
      def fill
        feed("orders", [*Array.new(24) { ["k", "v" * 500_000] }, %w[k last]])
      end

      # librdkafka logs nothing, not even a reset.
      def silent(more = {}) = { kafka: @broker.settings.merge("log_level" => 0, **more) }

      def resets(events)
        named(events, "kafka_offset_reset").map { |facts| facts.values_at(:offset, :to) }
      end

      def losses(events)
        named(events, "messages_lost").map do |facts|
          facts.values_at(:offset, :last_offset, :messages)
        end
      end
    end
  end
end
