# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # What happens if a partition is revoked while its handler runs.
    class RevocationTest < ::KafkaCase
      HEARTBEAT = { "heartbeat.interval.ms" => 100, "session.timeout.ms" => 6_000 }.freeze
      OFFSET_COMMIT = 8
      COORDINATOR_LOADING = 14
      private_constant :HEARTBEAT, :OFFSET_COMMIT, :COORDINATOR_LOADING

      def setup
        super
        broker(orders: 1, out: 1)
        feed("orders", (0...6).map { |n| ["k", n.to_s] })
        @seen = []
      end

      def teardown
        @other&.close
        super
      end

      test "a mark of the whole batch after each ended early covers the yielded messages" do
        marked = nil
        revoked_at(2) do |batch|
          each_of(batch)
          marked = batch.mark(batch.last_offset)
        end

        assert_equal [[0, 1, 2], false, 3], [@seen, marked, @done]
      end

      test "each yields all messages of a batch that was marked as a whole before" do
        revoked_at(2) do |batch|
          batch.mark(batch.last_offset)
          each_of(batch)
        end

        assert_equal [[*0..5], 6], [@seen, @done]
      end

      test "each yields the first message even if the partition is revoked before it" do
        found = revoke_first { |batch| [batch.first.offset, batch.map(&:offset), batch.count] }

        assert_equal [[0, [0], 1], 1], [found, @done]
      end

      test "each yields no message of a partition that is lost" do
        lost, writer = IO.pipe
        on_event = lambda do |name, facts, _|
          writer.write("!") if name == "kafka_rebalance" && facts[:change] == "revoked"
        end
        found = revoke_first({ rebalance_wait: 0.1 }, on_event) do |batch|
          wait_readable(lost)
          batch.map(&:offset)
        end

        assert_equal [[], 0], [found, @done]
      ensure
        [lost, writer].each(&:close)
      end

      test "a mark isn't stored once the partition is lost" do
        lost, writer = IO.pipe
        marks = []
        on_event = lambda do |name, facts, _|
          writer.write("!") if name == "kafka_rebalance" && facts[:change] == "revoked"
        end
        revoked_at(1, { rebalance_wait: 0.1 }, on_event) do |batch|
          marks << batch.mark(0)
          batch.each do |message|
            wait_readable(lost) if revoke(batch, message) # until rebalance_wait is over
            marks << batch.mark(message)
          end
        end

        assert_equal [true, true, false], marks
      ensure
        [lost, writer].each(&:close)
      end

      test "a stop ends the wait for a coordinator that rejects the commit of a revocation" do
        events = revoked_at(0) do |batch|
          batch.mark(0)
          @broker.fail_next(OFFSET_COMMIT, *[COORDINATOR_LOADING] * 10_000)
          each_of(batch)
        end

        failed, = named(events, "kafka_commit_failed")
        assert_equal "COORDINATOR_LOAD_IN_PROGRESS", failed[:code]
      end

      test "reports an outage, and its end, while a revocation waits for its commit" do
        react = lambda do |name, _, node|
          @broker.up! if name == "kafka_disconnected"
          node.stop! if name == "kafka_reconnected"
        end
        @at = 0
        kafka = @broker.settings.merge(HEARTBEAT)
        events = play({ kafka:, commit_interval: 600 }, on_event: react) do |batch|
          each_of(batch)
          @broker.down! if @seen.one?
        end
        names = events.map(&:first)

        assert_equal 1, names.count("kafka_disconnected")
        assert_operator names.index("kafka_disconnected"), :<, names.index("kafka_reconnected")
      end

      test "a transaction with outputs of two loops isn't committed if the second ends early" do
        revoked_at(2, { transactional: true }) do |batch, node|
          batch.each { |message| node.producer.produce("out", message.payload) }
          each_of(batch)
        end

        assert_equal [[0, 1, 2], 0], [@seen, @done]
      end

      test "on_revoked is called once, after the handler, with the partition's state" do
        calls = []
        on_revoked = ->(topic, number, state) { calls << [topic, number, state[:seen]] }
        events = revoked_at(2, { on_revoked: }) do |batch|
          each_of(batch)
          batch.state[:seen] = @seen
          calls << :handled
        end

        assert_equal [:handled, ["orders", 0, [0, 1, 2]]], calls
        assert_includes named(events, "kafka_rebalance").map { |facts| facts[:change] }, "revoked"
      end

      test "a transaction with outputs of all payloads isn't committed if each ends early" do
        revoked_at(2, { transactional: true }) do |batch, node|
          batch.payloads.each { |payload| node.producer.produce("out", payload) }
          each_of(batch)
        end

        assert_equal [[0, 1, 2], 0], [@seen, @done]
      end

      test "a transaction of one loop that ends early commits the yielded messages" do
        revoked_at(2, { transactional: true }) do |batch, node|
          each_of(batch) { |message| node.producer.produce("out", message.payload) }
        end

        assert_equal [[0, 1, 2], 3], [@seen, @done]
      end

      private

      # Runs the handler once. The partition is revoked when `each_of` is at that offset.
      def revoked_at(offset, more = {}, on_event = nil)
        @at = offset
        kafka = @broker.settings.merge(HEARTBEAT)
        events = play({ kafka:, commit_interval: 600, **more }, on_event:) do |batch, node|
          yield batch, node
          node.stop!
        end
        @done = named(events, "processed").sum { |facts| facts[:number] }
        events
      end

      # Revokes the partition before the handler's first message. Returns the block's result.
      def revoke_first(more = {}, on_event = nil)
        found = nil
        revoked_at(0, more, on_event) do |batch|
          revoke(batch, batch.messages.first)
          found = yield batch
        end
        found
      end

      def each_of(batch)
        batch.each do |message|
          @seen << message.offset
          yield message if block_given?
          revoke(batch, message)
        end
      end

      # At the offset @at, lets another member join and waits until the batch is revoked.
      def revoke(batch, message)
        return unless message.offset == @at

        @other = Consumer.new(Config::ClientConfig.new(@broker.settings.merge(HEARTBEAT)).consumer(
          "other", 1, group: "readers", commit_interval: 600, nameless: true
        ))
        @other.subscribe(["orders"])
        by = deadline(10)
        IO.select(nil, nil, nil, 0.01) until batch.revoked? || seconds_until(by).zero?
        batch.revoked?
      end
    end
  end
end
