# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Partitions that are paused without skep: they have messages, and none is delivered.
    class StallTest < ::KafkaCase
      # A broker holds a fetch request without messages for so long: a message that arrives in
      # another partition meanwhile may look stalled.
      FETCH = { "fetch.wait.max.ms" => "10" }.freeze
      private_constant :FETCH

      test "reports a stalled partition, and ends the node" do
        error = play_paused

        assert_includes error.message, "orders/0"
        assert_equal [["orders", 0, 1, 1]], stalls.map { |facts|
          facts.values_at(:topic, :partition, :offset, :lag)
        }
        assert_operator stalls.first[:duration], :>=, 0.5
      end

      test "commits what was done before the stall" do
        play_paused

        assert_equal %w[second], redelivered
      end

      test "detects a stall while its only thread is busy with another partition" do
        broker(orders: 2)
        feed("orders", [["k", "first", 0], ["k", "busy", 1]])
        @events = []
        assert_raises(NodeStalled) do
          play_stall(Patience.of(1.0)) do |batch, _|
            if batch.payloads == %w[first]
              pause
              feed("orders", [["k", "second", 0]])
            elsif batch.partition == 1
              feed("orders", [["k", "busy", 1]])
            end
          end
        end
        assert_equal([0], stalls.map { |facts| facts[:partition] })
      end

      test "publishes how often a partition stalled, and its end offset" do
        play_paused
        row = named(@events, "work").last[:partitions].first

        assert_equal [1, 1, 2, 1], row.values_at("stalls", "position", "end", "lag")
      end

      test "reports no stall of a partition without messages, in a handler or in backoff" do
        broker(orders: 2)
        feed("orders", [["k", "slow", 0]])
        failures = 0
        @events = []
        timeout = Patience.of(1.0) # longer than a fetch takes
        play_stall(timeout, retry_backoff: timeout * 1.2) do |batch, node|
          next node.stop! if batch.payloads == %w[last]

          node.wait_for([], timeout * 1.2)
          raise "not yet" if (failures += 1) == 1

          feed("orders", [["k", "last", 1]])
        end

        assert_empty named(@events, "kafka_stalled")
      end

      test "without a stall_timeout there is no stall monitor, and there are no statistics" do
        broker(orders: 1)
        options = Config::SourceOptions.new(**options(stall_timeout: nil))
        settings = options.settings.consumer("us", 0, group: "g", commit_interval: 5.0,
                                                      stall_timeout: nil)

        assert_nil Consumer::StallMonitor.for(options)
        refute settings.key?("statistics.interval.ms")
      end

      private

      # The node handles "first"; then its partition is paused, and gets "second". Returns the error
      # that ends the node.
      def play_paused
        broker(orders: 1)
        feed("orders", [%w[k first]])
        @events = []
        assert_raises(NodeStalled) do
          play_stall(Patience.of(0.5)) do
            pause
            feed("orders", [%w[k second]])
          end
        end
      end

      def play_stall(stall_timeout, **more, &)
        @others = consumers # of other tests in this process: their clients may be gone
        on_event = ->(name, facts, _) { @events << [name, facts] }
        play({ kafka: @broker.settings.merge(FETCH), stall_timeout:, **more }, on_event:, &)
      end

      def stalls = named(@events, "kafka_stalled")

      def pause
        bind_pause
        consumer = (consumers - @others).find { |one| !one.closed? }
        Librdkafka::TopicPartitionList.make([["orders", 0]]) do |list|
          Librdkafka::Bindings.pause_partitions(consumer.handle, list.pointer)
        end
      end

      def consumers = ObjectSpace.each_object(Consumer).to_a

      def bind_pause
        return if Librdkafka::Bindings.respond_to?(:pause_partitions)

        Librdkafka::Bindings.attach_function(:pause_partitions, :rd_kafka_pause_partitions,
                                             %i[pointer pointer], :int)
      end
    end
  end
end
