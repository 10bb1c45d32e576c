# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # Uses the embedded broker, which can't delete records. The scenario dead_letters_are_replayed
    # replays and purges on a real broker.
    class DeadLettersTest < ::KafkaCase
      FROM = { "skep.topic" => "orders", "skep.partition" => "1", "skep.offset" => "7",
               "skep.attempts" => "5", "skep.host" => "here" }.freeze
      private_constant :FROM

      # In place of a TopicScan whose topic loses its last letter between two reads.
      class ShrinkingScan
        attr_reader :topic, :borders

        def initialize(messages)
          @topic, @messages, @borders = "dead", messages, []
        end

        def bounds = { 0 => 0...@messages.size }
        def partitions(_topic) = 2
        def delete_before(_number, offset) = @borders << offset

        def each(_number, _range, &)
          @messages.each(&)
          @messages = @messages[0..-2]
        end
      end
      private_constant :ShrinkingScan

      test "groups letters by error class, and filters them by error, topic or key" do
        write(["1", "IOError: away"], ["2", "IOError: closed"], ["3", "Shop::Late: no"], ["4", nil],
              ["5", "Müll::Ölig: no"])
        letters do |dead|
          groups = dead.groups.map { |group| group.values_at(:error, :topic, :count, :example) }
          assert_equal [["IOError", "orders", 2, "IOError: away"],
                        ["Müll::Ölig", "orders", 1, "Müll::Ölig: no"],
                        ["Shop::Late", "orders", 1, "Shop::Late: no"],
                        ["unknown", nil, 1, ""]], groups
          assert_equal %w[2], dead.each(error: "closed").map { |letter| letter.message.key }
          assert_equal %w[1 2 3 5], dead.each(topic: "orders").map { |letter| letter.message.key }
          assert_equal %w[3], dead.each(key: "3").map { |letter| letter.message.key }
          %w[orders/1 orders/1/7].each do |topic|
            assert_equal %w[1 2 3 5], dead.each(topic:).map { |letter| letter.message.key }
          end
          assert_empty dead.each(topic: "orders/1/8").to_a + dead.each(topic: "order").to_a
          place = dead.each(key: "2").first.place
          assert_match(%r{\Adead/0/\d+\z}, place)
          assert_equal %w[2], dead.each(letter: place).map { |letter| letter.message.key }
        end
      end

      test "returns the origin of a letter, and keeps the message's own headers" do
        write(["1", "IOError: away", { "trace" => "t", "skep.replays" => "2" }])
        letters do |dead|
          letter = dead.each.first
          assert_equal ["orders", 1, 7, 5, nil, "here", 2],
                       [letter.topic, letter.partition, letter.offset, letter.attempts,
                        letter.crashes, letter.host, letter.replays]
          assert_equal({ "trace" => "t", "skep.replays" => "3" }, letter.headers)
        end
      end

      test "a dry run returns counts, and changes nothing" do
        write(["1", "IOError: away"], ["2", "Shop::Late: no"], ["3", nil],
              ["4", "IOError: away", { "skep.replays" => "3" }],
              ["5", "IOError: away", { "skep.topic" => "gone" }],
              ["6", "IOError: away", { "skep.partition" => "2" }])
        letters do |dead|
          assert_equal({ replayed: 2, failed: 0, kept: 0, held: 1, unknown: 3 },
                       dead.replay(dry_run: true))
          assert_equal({ replayed: 5, failed: 0, kept: 0, held: 1, unknown: 0 },
                       dead.replay(dry_run: true, to: "other"))
          assert_equal({ replayed: 1, failed: 0, kept: 5, held: 0, unknown: 0 },
                       dead.replay(dry_run: true, error: "IOError", limit: 1))
          assert_equal({ deleted: 4, kept: 2, unknown: 0 },
                       dead.purge(dry_run: true, error: "IOError"))
          assert_equal 6, dead.each.count
        end
      end

      test "a purge keeps messages that aren't dead letters, and counts them" do
        write(["1", nil], ["2", "IOError: away"], ["3", nil])
        letters do |dead|
          assert_equal({ deleted: 1, kept: 0, unknown: 2 }, dead.purge(dry_run: true))
          assert_equal({ deleted: 0, kept: 2, unknown: 1 }, dead.purge(key: "1", dry_run: true))
          assert_equal({ deleted: 3, kept: 0, unknown: 0 },
                       dead.purge(unknown: true, dry_run: true))
        end
      end

      test "a purge of an ordinary topic deletes and writes nothing" do
        write(["1", nil], ["2", nil])
        letters { |dead| assert_equal({ deleted: 0, kept: 0, unknown: 2 }, dead.purge) }
      end

      test "rejects a replay into its own topic, a rate of 0 and nested reads" do
        write(["1", "IOError: away"])
        letters do |dead|
          assert_raises(ArgumentError) { dead.replay(to: "dead") }
          [0, 1i].each { |rate| assert_raises(ArgumentError) { dead.replay(rate:) } }
          assert_raises(ArgumentError) { dead.each { dead.groups } }
        end
      end

      test "replay and purge name the embedded broker, which can't delete records" do
        write(["1", "IOError: away"])
        letters do |dead|
          [-> { dead.replay }, -> { dead.purge }].each do |action|
            refused = assert_raises(DeletionRefused, &action)
            assert_match(/\. Nothing was written: the embedded broker can't/, refused.message)
          end
          assert_equal 1, dead.each.count
        end
      end

      test "a letter that retention deletes during a replay isn't counted as replayed" do
        write(["1", "IOError: away"], ["2", "IOError: away"], ["3", "IOError: away"])
        scan = ShrinkingScan.new(letters { |dead| dead.each.map(&:message) })
        dead = Admin::DeadLetters.new(scan) { Producer.new(@broker.settings) }
        assert_equal({ replayed: 2, failed: 0, kept: 0, held: 0, unknown: 0 }, dead.replay)
        assert_equal [0, 2], scan.borders
        own = ShrinkingScan.public_instance_methods(false) - %i[borders]
        assert_empty own - Admin::TopicScan.public_instance_methods(false)
      ensure
        dead&.close
      end

      test "a header's name may be any bytes" do
        write(["1", "IOError: \u00e9t\u00e9", { "h\xFF" => "v" }])
        letters do |dead|
          letter = dead.each(error: "\u00e9t\u00e9".b).first
          assert_equal({ "h\xFF" => "v", "skep.replays" => "1" }, letter.headers)
        end
      end

      test "a topic without messages has no letters" do
        broker(dead: 3)
        letters { |dead| assert_empty dead.groups }
      end

      private

      # Writes letters of [key, error, headers]. Without an error a letter has no headers of skep's.
      def write(*rows)
        broker(dead: 1, orders: 2)
        producer = Producer.new(@broker.settings)
        rows.each do |key, error, headers|
          own = error ? { **FROM, "skep.error" => error } : {}
          producer.produce("dead", "payload", key:, headers: { **own, **headers.to_h })
        end
        producer.close
      end

      def letters(&) = Kafka.dead_letters("dead", @broker.settings, &)
    end
  end
end
