# frozen_string_literal: true

require "kafka/support/reading"
require "objspace"
require "support/fakes"

module Skep
  module Kafka
    # What a read of a partition queue returns, in C and in the Ruby fallback.
    class MessageSetTest < ::KafkaCase
      def setup
        super
        broker(orders: 1)
      end

      def teardown
        @reading&.close
        super
      end

      test "is made by the C extension if it is loaded" do
        assert_equal Skep::OS.native?, Librdkafka::PartitionQueue.native?
        message_set = read([%w[k v]])
        assert_kind_of Message, message_set.first
        assert_equal Skep::OS.native?, message_set.first.class != Message
      end

      test "holds the offset, key, payload, headers and timestamp of a message" do
        message = read([%w[key payload]]).first
        assert_equal ["orders", 0, 0], [message.topic, message.partition, message.offset]
        assert_equal %w[key payload], [message.key, message.payload]
        assert_equal Encoding::BINARY, message.payload.encoding
        assert_equal Encoding::BINARY, message.key.encoding
        assert_in_delta Time.now.to_f * 1000, message.milliseconds, 60_000
        assert_equal message.milliseconds, (message.timestamp.to_r * 1000).to_i
        assert_equal({}, message.headers)
        assert_equal "#<Skep::Kafka::Message orders/0/0 7 bytes>", message.inspect
      end

      test "distinguishes nil from empty strings" do
        nothing, empty, binary = read([[nil, nil], ["", ""], ["\0k\xFF", "a\0b\xFE"]]).to_a
        assert_equal [nil, nil], [nothing.key, nothing.payload]
        assert_equal "#<Skep::Kafka::Message orders/0/0 tombstone>", nothing.inspect
        assert_equal ["", ""], [empty.key, empty.payload]
        assert_equal ["\0k\xFF".b, "a\0b\xFE".b], [binary.key, binary.payload]
      end

      test "has headers as a frozen Hash, with an Array for a repeated one" do
        given = [[["a", "1"], ["b", nil], ["a", "2"], ["é", "\xFF".b], ["e", ""], ["b", "4"],
                  ["a", nil]], [], [["z", "9"]]]
        produce(given.map { |headers| [nil, "v", headers] })
        headers = reading.take(3).map(&:headers)

        assert_equal [{ "a" => ["1", "2", nil], "b" => [nil, "4"], "é" => "\xFF".b, "e" => "" }, {},
                      { "z" => "9" }], headers
        assert headers.all?(&:frozen?)
        assert_equal Encoding::UTF_8, headers.first.keys.last.encoding
      end

      test "is a list of messages with its offsets and payloads" do
        message_set = read((0...5).map { |n| ["k", "v#{n}"] })
        assert_equal [5, 0, 4],
          [message_set.size, message_set.first_offset, message_set.last_offset]
        assert_equal %w[v0 v1 v2 v3 v4], message_set.payloads
        assert_equal (0..4).to_a, message_set.map(&:offset)
        assert_equal 5, message_set.each.size
        first = message_set.each.with_index.first(2)
        assert_equal(%w[v0 v1], first.map { |message, _| message.payload })
      end

      test "reports each yielded message to the node" do
        message_set = read((0...3).map { |n| ["k", "v#{n}"] })
        assert_nil message_set.last_yielded_offset
        node = recording_node
        message_set.tracked = 1
        assert_raises(StopIteration) do
          message_set.each_tracked(node, 1) { |message| raise StopIteration if message.offset == 1 }
        end

        assert_equal [[0, 1], 1], [node.given, message_set.last_yielded_offset]
        assert_equal %w[v0 v1 v2],
                     [].tap { |all| message_set.each_tracked(node, 1) { |one| all << one.payload } }
      end

      test "tracks one loop at a time; other loops only beat" do
        message_set = read((0...3).map { |n| ["k", "v#{n}"] })
        node = recording_node
        message_set.tracked = 1
        message_set.each_tracked(node, 1) do |message|
          message_set.each_tracked(node, 2) { break } if message.offset == 1
          message_set.tracked = nil if message.offset == 1
        end

        assert_equal [[0, 1], 2, 1, nil],
          [node.given, node.beats, message_set.last_yielded_offset, message_set.tracked]
      end

      test "writes to the node's scoreboard page after the first message, in a healthy node" do
        skip "a fallback always calls the node" unless Librdkafka::PartitionQueue.native?
        message_set = read((0...3).map { |n| ["k", "v#{n}"] })
        page = OS::SharedPage.create(1)
        node = recording_node([page.address(0), 6, 5])
        seen = []
        message_set.tracked = 1
        message_set.each_tracked(node, 1) do |message|
          seen << page.get(0, 6)
          page.set(0, 5, message.offset == 1 ? 1 : 0)
        end

        assert_equal [[0, 2], [0, 2, 2]], [node.given, seen]
        assert_in_delta OS.now, page.beat_at(0), 60
        page.close
      end

      test "yields the same Message object each time" do
        slice = Processing::Slice.new("orders", 0, read((0...5).map { |n| ["k", "v#{n}"] }))
        batch = Batch.new(slice)
        seen = batch.select { |message| message.offset.even? }
        assert_equal [1, 3], (batch.to_a - seen).map(&:offset)
        assert_equal [1, 3], batch.reject { |message| seen.include?(message) }.map(&:offset)
        assert_equal [0, 2, 4], batch.select(&seen.to_h { |one| [one, true] }).map(&:offset)
        assert_equal batch.first, Marshal.load(Marshal.dump(seen.first))
        refute_equal batch.first, batch.first.offset
      end

      test "makes a string once" do
        message = read([["k", "v", [["h", "1"]]]]).first
        %i[payload key headers topic].each do |what|
          assert_same message.public_send(what), message.public_send(what)
        end
      end

      test "a message can be copied and marshalled" do
        message = read([["k", "v", [%w[h 1], %w[h 2]]]]).first
        [message.dup, message.clone, Marshal.load(Marshal.dump(message))].each do |copy|
          assert_instance_of Message, copy
          fields = %i[topic partition offset key payload milliseconds headers timestamp inspect]
          fields.each { |name| assert_equal message.public_send(name), copy.public_send(name) }
        end
      end

      test "its value is its payload, or what it was given, also in copies" do
        message = read([%w[k v]]).first
        assert_equal "v", message.value
        message.__with_value({ "a" => nil })
        copies = [message.dup, message.clone, Marshal.load(Marshal.dump(message))]
        assert_equal [{ "a" => nil }] * 3, copies.map(&:value)
        assert_nil message.__with_value(nil).value
        other = message.dup.freeze.__with_value(1)
        assert_equal [1, "v"], [other.value, other.payload]
      end

      test "a marshalled message can be loaded without C" do
        bytes = Marshal.dump(read([%w[k v]]).first).unpack1("H*")
        out, = run_program(<<~'RUBY', [bytes], env: { "SKEP_PURE" => "1" })
          require "skep/kafka"
          message = Marshal.load([ARGV.first].pack("H*"))
          puts "#{message.inspect} #{message.payload} #{Skep::OS.native?}"
        RUBY
        assert_equal "#<Skep::Kafka::Message orders/0/0 1 bytes> v false\n", out
      end

      test "a batch has new strings at each try" do
        skip "a fallback has them already" unless Librdkafka::PartitionQueue.native?
        message_set = read([%w[k v]])
        slice = Processing::Slice.new("orders", 0, message_set)
        2.times do
          slice.messages.first.payload << "!"
          assert_equal ["v!"], slice.messages.map(&:payload)
          slice.reset_strings
        end

        assert_equal ["v"], message_set.payloads
      end

      test "read returns at most `limit` messages, and their number" do
        feed("orders", (0...10).map { |n| ["k", n.to_s] })
        counts = []
        message_set = nil
        until counts.sum == 10
          message_set, errors, count = reading.read(4)
          assert_equal [message_set.size, []], [count, errors]
          count.zero? ? reading.wait : counts << count
        end

        assert_operator counts.max, :<=, 4
        assert_equal 9, message_set.last_offset
        empty, = reading.read(4)
        assert_equal [0, nil, nil, [], true],
                     [empty.size, empty.first_offset, empty.last_offset, empty.to_a, empty.empty?]
      end

      test "read returns an error of the partition as code and text" do
        feed("orders", [%w[k v]])
        code, text = reading(offset: 99, "auto.offset.reset" => "error").error
        assert_equal(-140, code) # RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET
        assert_match(/out of range/i, text)
      end

      test "remains readable after its queue and client are closed" do
        message = read([["k", "v" * 10_000, [["h", "1"]]]]).first
        reading.close
        GC.start
        assert_equal ["k", "v" * 10_000, { "h" => "1" }],
                     [message.key, message.payload, message.headers]
      end

      test "remains readable in the parent after a forked child has read and freed it" do
        message_set = read((0...50).map { |n| ["k#{n}", "v#{n}"] })
        held = message_set.to_a
        pid, output = in_child do |writer|
          expected = (0...50).map { |n| "v#{n}" }
          good = held.map(&:payload) == expected && message_set.payloads == expected
          message_set = held = nil
          GC.start
          writer.puts(good && GC.count)
        end

        assert_match(/\A\d/, wait_readable(output).read)
        assert_predicate Process.wait2(pid).last, :success?
        assert_equal "v49", held.last.payload
      end

      test "read raises on a closed queue" do
        queue = reading.queue
        reading.close
        assert_raises(IOError) { queue.read(1) }
        assert_nil queue.position
        assert_nil queue.close
      end

      test "stays valid while the heap is collected and compacted" do
        messages = (0...5).map { |n| ["k#{n}", "v#{n}", [["h", n.to_s], %w[h 1], %w[h 2]]] }
        message_set = read(messages)
        messages = stressed do
          message_set.to_a.each { |message| [message.payload, message.headers] }
        end
        message_set = nil
        Array.new(10_000) { "garbage" * 10 }
        GC.respond_to?(:compact) ? GC.compact : GC.start
        stressed { messages.last(2).each(&:key) }

        headers = (0...5).map { |n| { "h" => [n.to_s, "1", "2"] } }
        assert_equal headers.each_with_index.map { |all, n| ["orders", n, "k#{n}", "v#{n}", all] },
                     messages.map { |m| [m.topic, m.offset, m.key, m.payload, m.headers] }
      end

      test "a message keeps its message set from being collected, also after a break" do
        payloads = 50.times.map do |n|
          message_set = Librdkafka::MessageSet.join([@last]) unless n.zero?
          message_set ||= read((0...30).map { |each| ["k", "v#{each}"] })
          @last = message_set
          message_set.each { |message| break message if message.offset == n % 30 }
        end
        @last = nil
        GC.start
        assert_equal 50.times.map { |n| "v#{n % 30}" }, payloads.map(&:payload)
      end

      test "memsize_of includes the payloads" do
        message_set = read([["k", "x" * 50_000]] * 10)
        next unless Librdkafka::PartitionQueue.native?

        assert_operator ObjectSpace.memsize_of(message_set), :>, 400_000
        assert_equal [50_000] * 10, message_set.payloads.map(&:bytesize)
      end

      private

      def reading(**settings) = @reading ||= Reading.new(self, @broker, **settings)

      def read(items)
        produce(items)
        reading.take(items.size)
      end

      # spot: the words that C writes, IPC::Scoreboard::Heartbeat#spot.
      def recording_node(spot = nil)
        Fakes::ProgressRecorder.new([], 0, spot)
      end

      # Writes items of [key, payload, headers] into the partition, all at once.
      def produce(items)
        writer = Producer::SyncProducer.new({ "bootstrap.servers" => @broker.bootstrap_servers,
                              "linger.ms" => "200" })
        items.each { |key, payload, headers| writer.put("orders", key, payload, headers) }
        assert_equal [0, items.size], [writer.flush(10), writer.delivered]
      ensure
        writer&.close
      end

      def stressed
        GC.stress = true
        yield
      ensure
        GC.stress = false
      end
    end
  end
end
