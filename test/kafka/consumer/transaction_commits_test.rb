# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # What a transactional source's event loop learns of its transactions.
    class TransactionCommitsTest < ::KafkaCase
      # A scheduler that has these entries to commit.
      Entries = Struct.new(:certain) do
        def positions = certain.to_h { |topic, number, offset| [[topic, number], [offset, 0]] }
      end
      private_constant :Entries

      def setup
        super
        broker(orders: 2)
        @options = Config::SourceOptions.new(**options, transactional: true)
        @consumer = Consumer.new(@options.settings.consumer("test", 0, group: "readers",
                                                                         commit_interval: 5.0))
        @scheduler = Entries.new([["orders", 0, 5, 7], ["orders", 1, 3]])
        @commits = Consumer::TransactionCommits.new(@consumer, @scheduler, group: "readers",
                                                                           interval: 0.0)
      end

      def teardown
        [@commits, @consumer].compact.each(&:close)
        super
      end

      test "returns the offsets that the group has after transactions have committed" do
        assert_equal 0, @consumer.commit([["orders", 0, 5]], 5.0)
        assert @commits.look
        known, unknown = answered.sort_by { |entry| entry[1] }
        assert_equal ["orders", 0, 5, 0], known
        assert_predicate unknown[2], :negative?
      end

      test "asks only if something was committed since the last time" do
        @scheduler.certain.each { |entry| @consumer.commit([entry.first(3)], 5.0) }
        assert @commits.look
        answered
        refute @commits.look
        @scheduler.certain = [["orders", 0, 6, 7], ["orders", 1, 3]]
        assert @commits.look
      end

      test "asks again for an offset that the group hasn't had yet" do
        assert @commits.look
        answered
        @consumer.commit([["orders", 0, 5]], 5.0)
        assert @commits.look
        assert_equal [5], answered.map { |entry| entry[2] }.select(&:positive?)
        @scheduler.certain = [["orders", 0, 5, 7]]
        refute @commits.look
      end

      test "asks nothing before the answer to its last question" do
        assert @commits.look
        @scheduler.certain = [["orders", 0, 6, 7]]
        refute @commits.look
        assert_nil @commits.seconds_left
        answered
        assert @commits.look
      end

      test "asks once in 5 s, and never in a source without transactions" do
        slow = Consumer::TransactionCommits.for(@options, @consumer, @scheduler)
        refute slow.look
        assert_in_delta 5.0, slow.seconds_left, 1.0
        assert_nil Consumer::TransactionCommits.for(Config::SourceOptions.new(**options), nil, nil)
      ensure
        slow&.close
      end

      private

      def answered
        wait_readable(@commits.io)
        @commits.entries
      end
    end
  end
end
