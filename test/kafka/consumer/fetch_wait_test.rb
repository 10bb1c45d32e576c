# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # How long a running client lets brokers hold its fetch requests.
    class FetchWaitTest < ::KafkaCase
      LONG = 60_000 # milliseconds: a request that is held so long fails the test
      RUN = 200
      RUNS = 8
      private_constant :LONG, :RUN, :RUNS

      def setup
        super
        @now = 0.0
      end

      def teardown
        [@reader, @fetch_wait, @wakeup_pipe].compact.each(&:close)
        @consumer&.close
        super
      end

      test "shortens fetch.wait.max.ms of a running client, and restores it after a second" do
        consume
        fetch_wait(long: 700)
        @fetch_wait.shorten
        assert_equal "10", setting
        assert_in_delta 1.0, @fetch_wait.seconds_left
        wait_readable(@fetch_wait.io)
        later(0.9) { @fetch_wait.shorten }
        later(0.9) { @fetch_wait.look }
        assert_equal "10", setting
        later(0.2) { @fetch_wait.look }
        assert_equal "700", setting
        assert_nil @fetch_wait.seconds_left
      end

      test "for uses the settings' queue limits, and returns nil if they set fetch.wait.max.ms" do
        consume
        assert @consumer.fetch_wait.full?(100_000, 0)
        refute @consumer.fetch_wait.full?(99_999, 65_535_999)
        limits = { "queued.min.messages" => "7", "queued.max.messages.kbytes" => "2" }
        @fetch_wait = Consumer::FetchWait.for(@consumer.handle, limits)
        assert @fetch_wait.full?(0, 2000)
        refute @fetch_wait.full?(6, 1999)
        assert_nil Consumer::FetchWait.for(@consumer.handle, { "fetch.wait.max.ms" => "500" })
      end

      # Each run of messages fills the partition's queue. While the queue is full, librdkafka leaves
      # the partition out of fetch requests.
      test "stays short while a full queue runs empty beside partitions at their end" do
        broker(orders: 3)
        RUNS.times { |run| feed("orders", Array.new(RUN) { |n| ["k", "#{run}-#{n}", 1] }) }
        consume("fetch.wait.max.ms": LONG, "queued.min.messages": RUN / 2,
                "fetch.queue.backoff.ms": 1)
        fetch_wait(long: LONG)
        @fetch_wait.shorten # as an assignment does
        assign
        (RUN * RUNS / 100).times { take(100) }

        assert_equal RUN * RUNS, @count
        assert_equal "10", setting
        take_nothing
        later(1.0) { @fetch_wait.look }
        assert_equal LONG.to_s, setting
      end

      private

      def consume(**settings)
        servers = @broker ? @broker.bootstrap_servers : "127.0.0.1:1"
        settings = { "bootstrap.servers": servers, "group.id": "readers", **settings }
        @consumer = Consumer.new(settings.to_h { |name, value| [name.to_s, value.to_s] })
      end

      def fetch_wait(long:)
        @fetch_wait = Consumer::FetchWait.new(@consumer.handle, messages: RUN / 2,
                                                bytes: 1_000_000, long:, clock: -> { @now })
      end

      def later(seconds)
        @now += seconds
        yield
      end

      # Assigns all partitions. A PartitionReader reads the one that has messages.
      def assign
        queue = Librdkafka::PartitionQueue.new(@consumer.handle, "orders", 1, 100)
        queue.notify(@wakeup_pipe = Librdkafka::WakeupPipe.new, 1)
        @reader = Processing::PartitionReader.new(queue, "orders", 1, fetch_wait: @fetch_wait)
        @count = 0
        places = [0, 1, 2].map { |number| ["orders", number, -2] }
        Librdkafka::TopicPartitionList.make(places) { |list| @consumer.assign(list) }
      end

      # Reads so many messages. The clock moves 0.4 s at each wait, so that only a full queue keeps
      # the fetch wait short.
      def take(count)
        until count <= 0
          message_set, = @reader.read(100)
          @count += message_set.size
          count -= message_set.size
          next unless message_set.empty?

          later(0.4) { @fetch_wait.look }
          wait_readable(@wakeup_pipe.io)
          @wakeup_pipe.drain
        end
      end

      # Reads an empty queue, of a partition at its end.
      def take_nothing
        message_set, = @reader.read(100)
        assert_empty message_set
      end

      def setting
        function = Librdkafka::Bindings.ffi_libraries.first.find_function("rd_kafka_conf_get")
        get = FFI::Function.new(:int, %i[pointer string pointer pointer], function)
        text, size = FFI::MemoryPointer.new(:char, 32), FFI::MemoryPointer.new(:size_t)
        size.write_ulong(text.size)
        assert_equal 0,
          get.call(Librdkafka::Bindings.conf(@consumer.handle), Consumer::FetchWait::NAME, text,
                   size)
        text.read_string
      end
    end
  end
end
