# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Partitions that are paused without skep: they have messages, and none is delivered.
    class StallTest < ::KafkaCase
      # While it is on, new readers return nothing.
      module EmptyReads
        class << self
          attr_accessor :on
        end

        NOTHING = [Librdkafka::MessageSet.new([]), [], 0, nil].freeze
        private_constant :NOTHING

        def reader(...)
          super.tap do |reader|
            reader.define_singleton_method(:read) { |_| NOTHING } if EmptyReads.on
          end
        end
      end
      Consumer.prepend(EmptyReads)

      def teardown
        EmptyReads.on = false
        super
      end

      test "fetches a stalled partition again" do
        events, seen = play_paused

        assert_equal %w[first second third], seen
        stalled = stalls.first

        assert_equal [:seek, 1, 1], stalled.values_at(:cure, :offset, :lag)
        assert_operator stalled[:duration], :>=, 0.5
        assert_equal 1, named(events, "kafka_stall_ended").count { |facts| facts[:offset] == 1 }
      end

      test "replaces the client if fetching again doesn't help" do
        events, seen = play_paused { |consumer| ignore_resumes(consumer) }

        assert_equal %w[first second third], seen
        assert_equal %i[seek new_client], cures.first(2)
        assert_equal 1, named(events, "kafka_stall_ended").count { |facts| facts[:offset] == 1 }
        refute_empty named(events, "kafka_client_replaced")
        assert_equal 3, named(events, "work").last[:totals]["messages"] # of both clients
      end

      test "ends the node if a new client doesn't help either" do
        error = assert_raises(NodeStalled) do
          play_paused do |consumer|
            ignore_resumes(consumer)
            EmptyReads.on = true
          end
        end

        assert_includes error.message, "orders/0"
        assert_equal %i[seek new_client new_node], cures
      end

      test "detects a stall while its only thread is busy with another partition" do
        broker(orders: 2)
        feed("orders", [["k", "first", 0], ["k", "busy", 1]])
        on_event = lambda do |name, facts, node|
          node.stop! if name == "kafka_stall_ended" && facts[:partition].zero?
        end
        @events = play({ stall_timeout: Patience.of(1.0) }, on_event:) do |batch, _|
          if batch.payloads == %w[first]
            pause(clients.first)
            feed("orders", [["k", "second", 0]])
            clients.first.resume("orders", 1)
          elsif batch.partition == 1
            feed("orders", [["k", "busy", 1]])
          end
        end

        assert_equal [0, :seek], stalls.find { |facts| facts[:partition].zero? }
                                       .values_at(:partition, :cure)
      end

      test "publishes how often a partition stalled, and its end offset" do
        play_paused(stall_timeout: Patience.of(2.0)) # it publishes once a second
        rows = named(@events, "work").filter_map { |facts| facts[:partitions].first }

        assert_operator rows.last["stalls"], :>=, 1
        assert_includes rows.map { |row| row.values_at("position", "end", "lag") }, [1, 2, 1]
      end

      test "reports no stall of a partition without messages, in a handler or in backoff" do
        broker(orders: 2)
        feed("orders", [["k", "slow", 0]])
        failures = 0
        timeout = Patience.of(1.0) # longer than a fetch takes
        events = play({ stall_timeout: timeout, retry_backoff: timeout * 1.2 }) do |batch, node|
          next node.stop! if batch.payloads == %w[last]

          node.wait_for([], timeout * 1.2)
          raise "not yet" if (failures += 1) == 1

          feed("orders", [["k", "last", 1]])
        end

        assert_empty named(events, "kafka_stalled")
      end

      test "without a stall_timeout there is no stall detector, and there are no statistics" do
        broker(orders: 1)
        found = [60, nil].map do |stall_timeout|
          options = Config::SourceOptions.new(**options(stall_timeout:))
          settings = options.settings.consumer("us", 0, group: "g", commit_interval: 5.0,
                                                        stall_timeout:)
          [Consumer::StallMonitor.detector(options).nil?, settings["statistics.interval.ms"]]
        end

        assert_equal [[false, "30000"], [true, nil]], found
      end

      private

      # The node handles "first"; then its partition is paused. "second" isn't fetched. At "third"
      # the node stops. Yields the paused consumer.
      def play_paused(stall_timeout: Patience.of(0.5), &after_pause)
        broker(orders: 1)
        feed("orders", [%w[k first]])
        seen = []
        @events = []
        on_event = lambda do |name, facts, _|
          @events << [name, facts]
          feed("orders", [%w[k third]]) if name == "kafka_stall_ended" && facts[:offset] == 1
        end
        events = play({ stall_timeout: }, on_event:) do |batch, node|
          seen.concat(batch.payloads)
          next node.stop! if seen.include?("third")
          next unless seen == %w[first]

          pause(clients.first)
          after_pause&.call(clients.first)
          feed("orders", [%w[k second]])
        end
        [events, seen]
      end

      # The stalls at "second". On a slow machine "first" may have been late, too.
      def stalls = named(@events, "kafka_stalled").select { |facts| facts[:offset] == 1 }
      def cures = stalls.map { |facts| facts[:cure] }
      def clients = ObjectSpace.each_object(Consumer).reject(&:closed?)

      def pause(consumer)
        bind_pause
        Librdkafka::TopicPartitionList.make([["orders", 0]]) do |list|
          Librdkafka::Bindings.pause_partitions(consumer.handle, list.pointer)
        end
      end

      def bind_pause
        return if Librdkafka::Bindings.respond_to?(:pause_partitions)

        Librdkafka::Bindings.attach_function(:pause_partitions, :rd_kafka_pause_partitions,
                                             %i[pointer pointer], :int)
      end

      # Simulates a client that a resume doesn't help.
      def ignore_resumes(consumer) = consumer.define_singleton_method(:resume) { |*| nil }
    end
  end
end
