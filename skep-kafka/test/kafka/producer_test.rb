# frozen_string_literal: true

require "timeout"
require "kafka/support/kafka_case"
require "skep/kafka/testing"

module Skep
  module Kafka
    # A producer without a source: threads, handles, failures, close, and a fork.
    class ProducerTest < ::KafkaCase
      def setup
        super
        broker(orders: 2)
        @events = Thread::Queue.new
        @node = FakeNode.new { |*event| @events << event }
      end

      def teardown
        @producer&.close(timeout: 0)
        super
      end

      test "returns where a message was written, with its key, headers and timestamp" do
        at = Time.at(1_600_000_000)
        report = producer.produce_sync("orders", "payload", key: "k", partition: 1, timestamp: at,
                                                            headers: { trace: "1", "none" => nil })
        assert_equal ["orders", 1, 0], report.to_a
        assert_equal "orders/1/0", report.to_s
        handle = producer.produce("orders", nil, key: "k", partition: 1)
        assert_equal 1, handle.wait(timeout: 5).offset

        messages = read(2)
        assert_equal [%w[payload k], [nil, "k"]], messages.map { |one| [one.payload, one.key] }
        assert_equal [at, { "trace" => "1", "none" => nil }],
                     [messages.first.timestamp, messages.first.headers]
      end

      test "a serializer makes the payload of a value and the headers; nil stays a tombstone" do
        settings = @broker.settings
        serializer = ->(value, headers) { "#{value} #{headers[:trace]}" }
        @producer = Producer.new(settings, serializer:)
        @producer.produce_sync("orders", 7, headers: { trace: "1" }, partition: 0)
        @producer.produce_sync("orders", nil, partition: 0)
        assert_equal ["7 1", nil], read(2).map(&:payload)
        error = assert_raises(ArgumentError) { Producer.new(settings, serializer: :avro) }
        assert_match(/serializer must be :json, or a callable .* \(got :avro\)/, error.message)
      end

      test "gives each thread the delivery reports of its own messages" do
        producer # made before the threads start
        threads = Array.new(4) do |number|
          Thread.new do
            Array.new(200) { |n| producer.produce("orders", n.to_s, partition: number % 2) }
          end
        end
        deliveries = threads.flat_map(&:value)

        assert_equal 0, producer.flush(10)
        assert_equal [800, 0, 0], [producer.delivered, producer.failed, producer.waiting]
        assert_predicate deliveries, :all?
        places = deliveries.map { |one| one.wait.to_a }
        assert_equal places.uniq.size, places.size
        deliveries.first(400).each_slice(200) do |from_one_thread|
          assert_equal from_one_thread, from_one_thread.sort_by { |one| one.report.offset }
        end
      end

      test "produce waits while the buffer is full" do
        producer("queue.buffering.max.messages" => 10, "linger.ms" => 1)
        100.times { |n| producer.produce("orders", n.to_s) }
        assert_equal [0, 100], [producer.flush(10), producer.delivered]
      end

      test "produce with a full buffer doesn't wait for linger.ms" do
        producer("queue.buffering.max.messages" => 10, "linger.ms" => 60_000)
        assert_operator seconds { 30.times { |n| producer.produce("orders", n.to_s) } }, :<, 20
      end

      test "flush from several threads doesn't wait for linger.ms" do
        producer("queue.buffering.max.ms" => 60_000) # an alias of linger.ms
        threads = Array.new(4) do
          Thread.new do
            Array.new(20) do
              delivery = producer.produce("orders", "x")
              producer.flush(15).zero? && delivery.done?
            end
          end
        end
        assert_operator seconds { assert_equal [true] * 80, threads.flat_map(&:value) }, :<, 15
        assert_equal [0, 80], [producer.waiting, producer.delivered]
      end

      test "linger.ms applies again after a flush that timed out, was killed or returned" do
        producer("linger.ms" => 60_000)
        @broker.down!
        producer.produce("orders", "x", partition: 0)
        assert_raises(Timeout::Error) { Timeout.timeout(0.2) { producer.flush(60) } }
        begun = Thread::Queue.new
        waiting = Thread.new { begun.push(true) && producer.flush(60) }
        begun.pop
        assert_operator seconds { waiting.kill.join }, :<, 30
        assert_equal 1, producer.flush(0.1)

        @broker.up!
        assert_equal 0, producer.flush(15)
        assert held?
        assert_operator seconds { producer.close }, :<, 15
        assert_equal 0, producer.failed
      end

      test "produce raises at once for a message that is too large" do
        error = assert_raises(DeliveryFailed) do
          producer("message.max.bytes" => 2_000).produce("orders", "x" * 3_000)
        end
        assert_match(/Can't deliver .* to orders \(.*too large\)\. Send smaller/, error.message)
        refute_predicate error, :passing?
      end

      test "rejects arguments that would crash librdkafka, or that it would misinterpret" do
        [["payload must be a String, or nil (got 5", ["orders", 5]],
         ["payload must be a String, or nil (got {", ["orders", { a: 1 }], { headers: { a: 1 } }],
         ["key must be a String, or nil (got :k", %w[orders v], { key: :k }],
         ["topic must be a topic's name (got \"\"", [nil, "v"]],
         ["topic must be a topic's name (got \"or\\u0000ders\"", %W[or\0ders v], { timestamp: 1 }],
         ["topic must be a topic's name (got String: \"tttt", ["t" * 600, "v"]],
         ["header n must be a String, nil, or an Array of those (got 1", ["o"],
          { headers: { n: 1 } }],
         ["header n must be a String, nil, or an Array of those (got [\"1\", 2]", ["o"],
          { headers: { "n" => ["1", 2] } }],
         ["headers must be names that are Strings or Symbols (got 1", ["o"],
          { headers: { 1 => "a" } }],
         ["headers must be a Hash (got \"n\"", ["o"], { headers: "n" }],
         ["partition must be a partition's number (got 4294967297", %w[orders v],
          { partition: (2**32) + 1, headers: {} }]].each do |sentence, message, more|
          [producer, Skep::Kafka::Testing.node.producer].each do |one|
            error = assert_raises(ArgumentError) { one.produce(*message, **more.to_h) }
            assert_operator error.message, :start_with?, sentence
          end
        end
      end

      test "writes timestamps before 1970, and takes nothing else than a Time or milliseconds" do
        [-5_000, Time.at(-5)].each do |timestamp|
          producer.produce_sync("orders", "old", partition: 0, timestamp:)
        end
        assert_equal [Time.at(-5)] * 2, read(2).map(&:timestamp)
        ["x", 1.5, 2**70].each do |timestamp|
          [producer, Skep::Kafka::Testing.node.producer].each do |one|
            error = assert_raises(ArgumentError) { one.produce("orders", "v", timestamp:) }
            assert_match(/\Atimestamp must be a Time, or milliseconds since 1970 \(got /,
                         error.message)
          end
        end
      end

      test "produce gives up waiting for room once its node is stopping" do
        @node.define_singleton_method(:time_left) { 1.0 if stopping? }
        producer("queue.buffering.max.messages" => 10)
        @broker.down!
        10.times { |n| producer.produce("orders", n.to_s) }
        @node.stop!
        error = assert_raises(DeliveryFailed) { producer.produce("orders", "one more") }
        assert_match(/buffer is full, and the node is stopping/, error.message)
      ensure
        @broker.up!
      end

      test "can be closed in a signal handler" do
        program = <<~RUBY
          require "skep/kafka"
          producer = Skep::Kafka::Producer.new({ "bootstrap.servers": ARGV.first, "linger.ms": 60_000 })
          producer.produce("orders", "the last", partition: 0)
          trap("USR1") { producer.close && print(producer.closed?, producer.delivered) }
          Process.kill("USR1", Process.pid)
        RUBY
        out, err, status = run_program(program, [@broker.bootstrap_servers], gems: true)
        assert_equal ["true1", "", true], [out, err, status.success?]
      end

      test "keeps the handles of so many topics, and writes to others, too" do
        client = producer.__client
        1_200.times { |number| assert_equal 0, client.put("topic.#{number}", "k", "v") }
        assert_equal 1_000, client.instance_variable_get(:@topics).size
        assert_equal ["orders", 1, 0], producer.produce_sync("orders", "v", partition: 1).to_a
      end

      test "writes an array as a repeated header" do
        headers = { a: %w[1 2], "b" => ["3"], "c" => [], "d" => ["4", nil, "5"], "e" => nil }
        producer.produce_sync("orders", "v", headers:)

        assert_equal({ "a" => %w[1 2], "b" => "3", "d" => ["4", nil, "5"], "e" => nil },
                     read(1).first.headers)
      end

      test "writes the bytes of strings in any encoding" do
        wide = "é".encode("UTF-16LE")
        producer.produce_sync("orders", wide, key: "é", headers: { "é" => wide, "b" => "\xff\0".b })
        message = read(1).first
        assert_equal [wide.b, "é".b, { "é" => wide.b, "b" => "\xff\0".b }],
                     [message.payload, message.key, message.headers]
      end

      test "wait raises for a message that the broker refused, and no event is reported" do
        @broker.fail_next(0, 10) # Produce: MSG_SIZE_TOO_LARGE
        delivery = producer("linger.ms" => 100).produce("orders", "x")
        error = assert_raises(DeliveryFailed) { delivery.wait(timeout: 10) }

        assert_equal 10, error.code
        assert_equal [error, true], [delivery.error, delivery.done?]
        producer.close
        refute_includes events.map(&:first), "kafka_delivery_failed"
      end

      test "reports unclaimed failures as counts" do
        @broker.fail_next(0, *[10] * 3) # for up to three requests
        producer("linger.ms" => 100)
        3.times { producer.produce("orders", "x", partition: 0) }
        producer.close

        name, facts = events.find { |event, _| event == "kafka_delivery_failed" }
        assert_equal [:error, "orders"], facts.values_at(:level, :topic)
        counts = events.select { |event, _| event == name }.map { |_, given| given[:count] }
        assert_equal 3, counts.sum
      end

      test "close drops unacknowledged messages after its timeout, and reports them" do
        producer.produce_sync("orders", "first")
        @broker.down!
        delivery = producer.produce("orders", "second")
        assert_raises(DeliveryFailed) { delivery.wait(timeout: 0.1) }
        began = Skep::OS.now
        producer.close(timeout: 0.3)

        assert_operator Skep::OS.now - began, :<, 20
        assert_equal [1, 1], [producer.delivered, producer.failed]
        assert_predicate producer, :closed?
        again = assert_raises(DeliveryFailed) { producer.produce("orders", "third") }
        assert_match(/the producer is closed/, again.message)
      end

      test "several threads can close a producer, and its counters remain readable" do
        producer.produce_sync("orders", "first")
        @broker.down!
        producer.produce("orders", "second")
        Array.new(4) { Thread.new { producer.close(timeout: 0.3) } }.each(&:join)

        assert_equal [0, 0, 1, 1],
                     [producer.flush(0), producer.waiting, producer.delivered, producer.failed]
        assert_nil producer.fatal
        assert_match(/Producer closed/, producer.inspect)
      end

      test "raises for an invalid setting" do
        error = assert_raises(ConfigurationError) do
          Skep::Kafka::Producer.new({ "bootstrap.servers": "b:1", "no.such": 1 })
        end
        assert_match(/no\.such/, error.message)
      end

      test "accepts acks: 1 without idempotence" do
        producer("acks" => "1")
        assert_equal 0, producer.produce_sync("orders", "x", partition: 0, timeout: 5).offset
      end

      # A child can't destroy the client: that would wait forever for threads of the parent.
      test "is flushed when its process exits without closing it" do
        program = <<~RUBY
          require "skep/kafka"
          producer = Skep::Kafka::Producer.new({ "bootstrap.servers": ARGV.first, "linger.ms": 60_000 })
          fork { producer = nil } # the child's exit must not touch the client
          Process.wait
          producer.produce("orders", "the last", partition: 0)
        RUBY
        out, err, status = run_program(program, [@broker.bootstrap_servers], gems: true)
        assert_equal ["", "", true], [out, err, status.success?]
        producer.produce_sync("orders", "another's", partition: 0)
        assert_equal "the last", read(1).first.payload
      end

      test "can't be used in a forked child, whose exit leaves it intact" do
        producer.produce_sync("orders", "before", partition: 0)
        pid, reader = in_child do |writer|
          producer.produce("orders", "from the child")
        rescue ForkedProducer => e
          producer.close
          @producer = nil
          GC.start
          writer.write(e.message)
        end

        wait_readable(reader)
        assert_match(/belongs to another process \(.*Make a producer after the fork/, reader.read)
        assert_predicate Process.wait2(pid).last, :success?
        assert_equal 1, producer.produce_sync("orders", "after", partition: 0, timeout: 5).offset
      end

      private

      def producer(more = {})
        @producer ||= Skep::Kafka::Producer.new(@broker.settings.merge(more), node: @node)
      end

      # Returns true if a message isn't acknowledged after some seconds.
      def held?
        producer.produce("orders", "y", partition: 0).wait(timeout: 2)
        false
      rescue DeliveryFailed
        true
      end

      def seconds
        began = Skep::OS.now
        yield
        Skep::OS.now - began
      end

      def events = @all_events = @all_events.to_a + Array.new(@events.size) { @events.pop }

      def read(count)
        found = []
        play { |batch, node| found.concat(batch.to_a) && found.size >= count && node.stop! }
        found
      end
    end
  end
end
