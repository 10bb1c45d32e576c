# frozen_string_literal: true

require "test_helper"
require "skep/kafka/testing"
require "support/fakes"

module Skep
  module Kafka
    # Which messages of a partition a worker may take, and when.
    class AssignedPartitionTest < ::Skep::TestCase
      ORDERS = { "in order" => {},
                 "by key" => { ordered_by: :key, threads: 2, max_out_of_order: 100 } }.freeze
      private_constant :ORDERS

      def setup
        super
        @wakeup_pipe = Librdkafka::WakeupPipe.new
        @queue = Fakes::PartitionQueue.new
        @next = 0
      end

      def teardown
        @scheduler ? @scheduler.clear : @wakeup_pipe.close
        super
      end

      test "reads messages that arrived while it had no room, once it has room" do
        partition = partition(**ORDERS["by key"])
        put("a", "b", bytes: Processing::KeyOrder.const_get(:BYTES) / 2)
        first = draw(partition)
        put("c")
        partition.data_available
        second = draw(partition)
        refute_predicate partition, :more?
        [first, second].each { |item| partition.done(item, item.slice.last_offset) }
        assert_predicate partition, :more?
        assert_equal [2], draw(partition).slice.messages.map(&:offset)
        refute_predicate partition, :more?
      end

      # What a partition notes for the next process.
      class NotedProgress
        attr_reader :noted

        def initialize = @noted = []
        def done(position, offsets: nil, **) = @noted << [:done, position, offsets]
        def opened(messages) = @noted << [:opened, messages.map(&:offset)]
        def clear = @noted << [:cleared]
      end
      private_constant :NotedProgress

      test "notes what is done in order, and that it is revoked" do
        partition = partition(max_messages: 2, progress: progress = NotedProgress.new)
        put("a", "b")
        item = draw(partition)
        partition.done(item, 0)
        assert_equal [:done, 1, nil], progress.noted.last
        partition.done(item, 1)
        assert_equal [:done, 2, nil], progress.noted.last
        partition.begin_revocation
        assert_equal [:done, 2, nil], progress.noted.last # what is in progress may still be done
        partition.finish_revocation
        assert_equal [:cleared], progress.noted.last
      end

      test "notes by key which messages are done, and which come" do
        progress = NotedProgress.new
        partition = partition(**ORDERS["by key"], threads: 1, progress:)
        put("a", "b", "b")
        first = draw(partition)
        assert_equal [:opened, [0, 1, 2]], progress.noted.last
        partition.done(first, 1)
        assert_equal [:done, 2, [0, 1]], progress.noted.last
      end

      test "notes no position by key as long as there is none" do
        progress = NotedProgress.new
        partition = partition(**ORDERS["by key"], threads: 1, progress:)
        put("a", "b")
        draw(partition)
        partition.reader.epochs.read(0, 2, 9)
        partition.done(Struct.new(:slice).new(nil), 7) # a gap that another thread has found
        assert_equal [:done, nil], progress.noted.last.first(2)
      end

      # An attempt that another thread's handler may end while it is compared.
      RunningAttempt = Struct.new(:ended, :compared) do
        def end_early(**) = self.ended = true

        def equal?(other)
          compared&.call
          super
        end
      end
      private_constant :RunningAttempt

      test "knows the attempts of handlers, whatever thread begins or ends one meanwhile" do
        partition = partition(**ORDERS["by key"])
        go_on = Thread::Queue.new
        begun = Thread::Queue.new
        other = Thread.new do
          partition.with_attempt(RunningAttempt.new) { begun.push(true) && go_on.pop }
        end
        begun.pop
        end_other = lambda do
          go_on.push(true) && other.join if other.alive? && other != Thread.current
        end
        partition.with_attempt(RunningAttempt.new(nil, end_other)) do
          partition.with_attempt(ended = RunningAttempt.new) { nil }
          partition.begin_revocation
          refute ended.ended, "it had left its handler"
        end
      ensure
        end_other&.call
      end

      test "tells the scheduler how far it is without the metadata of a commit" do
        partition = partition(**ORDERS["by key"])
        @scheduler = Processing::Scheduler.new(wakeup_pipe: @wakeup_pipe)
        @scheduler.add(partition)
        put("a", "b", "c")
        2.times { @scheduler.complete(@scheduler.next_item(wait: false)) }
        built = 0
        partition.define_singleton_method(:entry) { |*facts| (built += 1) && super(*facts) }

        assert_equal [{ partition.key => [3, 0] }, 0], [@scheduler.positions, built]
        entries = @scheduler.committable_offsets
        assert_equal [[*partition.key, 3]], entries.map { |entry| entry.first(3) }
        assert_equal 1, built
      end

      test "once revoked, leaves messages to the next assignment, even while it reads" do
        old, successor = [1, 2].map { |id| partition(id:, **ORDERS["in order"]) }
        @scheduler = scheduler = Processing::Scheduler.new(wakeup_pipe: @wakeup_pipe)
        scheduler.add(old)
        old.define_singleton_method(:read) do
          scheduler.finish_revocation(scheduler.begin_revocation([key]))
          scheduler.add(successor)
          super()
        end
        put("a", "b")
        assert_equal [0, 1], scheduler.next_item(wait: false).slice.messages.map(&:offset)
      end

      test "a failure of a message alone counts, though its partition is revoked meanwhile" do
        partition = partition(**ORDERS["by key"])
        @scheduler = Processing::Scheduler.new(wakeup_pipe: @wakeup_pipe)
        @scheduler.add(partition)
        put("a")
        item = @scheduler.next_item(wait: false)
        leaving = @scheduler.begin_revocation([partition.key])
        item.failed(0)
        item.back_off(60)
        @scheduler.release(item)
        offset, _, text = @scheduler.finish_revocation(leaving).first.drop(2)
        assert_equal 1, Processing::CommitMetadata.read(text, offset).failures.fetch(0).count
      end

      test "each offset to commit says to which topic it belongs, also after a seek" do
        origin = Processing::OffsetOrigin.new("here", "topic")
        seeking = ->(place) { place }
        ORDERS.each_value do |order|
          @queue = Fakes::PartitionQueue.new
          partition = partition(seeking:, origin:, **order)
          2.times do |round|
            put("a", at: 0)
            finish(partition, draw(partition)) while partition.more?
            entries = [partition.commit_entry, partition.store_entry, partition.resume_entry,
                       partition.transaction_entry(1)]
            found = entries.map { |entry| Processing::CommitMetadata.read(entry[4], entry[2]) }
            assert_equal [origin] * 4, found.map(&:origin), round
            assert_equal ["t", 0, 1], partition.store_entry(labelled: false).first(3)
            assert_nil partition.store_entry(labelled: false)[4]
            partition.seek(0)
            draw(partition)
          end
        end
      end

      test "commits no position while a seek is in progress" do
        @scheduler = scheduler = Processing::Scheduler.new(wakeup_pipe: @wakeup_pipe)
        committable = nil
        seeking = lambda do |place|
          committable = scheduler.finish_revocation(scheduler.begin_revocation([["t", 0]]))
          place
        end
        scheduler.add(partition(seeking:, **ORDERS["in order"]))
        put("a", "b")
        item = scheduler.next_item(wait: false)
        scheduler.complete(item)
        scheduler.seek(item, 0)
        scheduler.release(item)

        assert_nil scheduler.next_item(wait: false)
        assert_equal [], committable
      end

      test "reads messages after a seek that arrived before it" do
        partition = partition()
        put("a", "b")
        item = draw(partition)
        put("c", "d")
        partition.data_available
        partition.seek(2)
        give_back(partition, item)
        assert_nil draw(partition)
        assert_predicate partition, :more?
        assert_equal [2, 3], draw(partition).slice.messages.map(&:offset)
      end

      ORDERS.each do |name, order|
        test "the position moves past undelivered records once all before them is done, #{name}" do
          partition = partition(**order)
          put("a", "a")
          @queue.pass(5)
          item = draw(partition)
          partition.done(item, 0)
          assert_equal 1, partition.position
          refute_predicate partition, :more?
          finish(partition, item)
          finish(partition, draw(partition)) while partition.more?
          assert_equal 5, partition.position
          assert_nil draw(partition)
          refute_predicate partition, :more?
        end

        test "draws an item without messages for undelivered records alone, #{name}" do
          partition = partition(**order)
          @queue.pass(3)
          item = draw(partition)
          assert_nil item.slice
          assert_nil partition.position
          finish(partition, item)
          assert_equal 3, partition.position
          refute_predicate partition, :more?
        end

        test "a seek drops the move past undelivered records, #{name}" do
          partition = partition(**order)
          put("a")
          @queue.pass(9)
          item = draw(partition)
          partition.seek(0)
          item.drop
          give_back(partition, item)
          partition.begin_reading
          partition.read
          assert_equal 0, partition.position
          assert_nil draw(partition)
        end
      end

      test "in order, later messages wait for an item without messages" do
        partition = partition(**ORDERS["in order"])
        @queue.pass(3)
        item = draw(partition)
        put("a")
        partition.data_available
        refute_predicate partition, :more?
        finish(partition, item)
        assert_predicate partition, :more?
      end

      test "the position doesn't move while a batch waits for more messages" do
        partition = partition(max_wait: 60, **ORDERS["in order"])
        put("a")
        @queue.pass(4)
        assert_nil draw(partition)
        assert_predicate partition, :gathering?
        refute_predicate partition, :more?
        assert_nil partition.position
      end

      test "the position follows the next message if that is done first" do
        partition = partition(**ORDERS["by key"])
        put("a")
        @queue.pass(4)
        first = draw(partition)
        @next = 4
        put("b")
        partition.data_available
        second = draw(partition)
        finish(partition, second)
        assert_nil draw(partition)
        assert_equal 0, partition.position
        finish(partition, first)
        assert_equal 5, partition.position
        refute_predicate partition, :more?
      end

      test "the next owner processes nothing again that is done beyond the committed offset" do
        leave_done_beyond
        partition = restored
        put_again
        assert_equal [0, 1], processed(partition)
        assert_equal 3, partition.position
      end

      test "in order, the next owner processes what is done beyond the committed offset, too" do
        leave_done_beyond
        partition = restored(ordered_by: :partition)
        put_again
        assert_equal [0, 1, 2], processed(partition)
        assert_equal ["t", 0, 3], partition.commit_entry
      end

      test "what is done beyond the offset is committed again until it has been read" do
        leave_done_beyond
        partition = restored
        put_again(0...1)
        finish(partition, draw(partition))
        assert_equal 1, partition.position
        assert_equal [2], beyond(partition)
      end

      test "messages of a higher leader epoch are processed, though their offsets are done" do
        leave_done_beyond
        partition = restored
        @queue.define_singleton_method(:leader_epoch) { 9 }
        put_again
        @queue.pass(3)
        assert_equal [0, 1, 2], processed(partition)
      end

      test "a higher leader epoch of messages behind what is done concerns only these" do
        leave_done_beyond
        partition = restored
        queue, at = @queue, 0
        queue.define_singleton_method(:read) { |limit| super(limit).tap { |all| at += all.last } }
        queue.define_singleton_method(:position) { at }
        queue.define_singleton_method(:leader_epoch) { at > 3 ? 9 : 0 }
        partition.reader.begin_at(0)
        put_again
        put("c", "d")
        assert_equal [0, 1, 3, 4], processed(partition)
      end

      test "what isn't left out because of its epoch isn't committed as done either" do
        leave_done_beyond
        partition = restored
        @queue.define_singleton_method(:leader_epoch) { 9 }
        put_again(0...1)
        @queue.pass(1)
        assert_equal [0], processed(partition)
        assert_nil partition.commit_entry[4]
      end

      test "a log that begins before the committed offset is another one: nothing is left out" do
        leave_done_beyond
        metadata = metadata(@former)
        metadata.instance_variable_set(:@offset, 5) # 7 is done
        @queue = Fakes::PartitionQueue.new
        partition = partition(committed: metadata, **ORDERS["by key"])
        put("a", at: 0)
        finish(partition, draw(partition))
        assert_nil partition.commit_entry[4]
        put(*("b".."i"))
        partition.data_available
        assert_equal [*1..8], processed(partition)
      end

      test "a seek forgets what is done beyond the committed offset" do
        leave_done_beyond
        partition = restored
        partition.seek(0)
        assert_nil draw(partition)
        put_again
        assert_equal [0, 1, 2], processed(partition)
      end

      ORDERS.each do |name, order|
        test "a message that failed alone keeps its failures in the next owner, #{name}" do
          partition = @former = partition(**order)
          put("a")
          item = draw(partition)
          assert_nil partition.commit_entry
          3.times { item.failed(0) }
          assert partition.failed(item)
          assert_equal 0, partition.commit_entry[2]

          @former, partition = partition, restored(**order)
          put_again(0...2)
          item = draw(partition)
          assert_equal [1, 3], [item.slice.size, item.failures.count]
          finish(partition, item) until item.done?
          finish(partition, draw(partition)) while partition.more?
          assert_equal ["t", 0, 2], partition.commit_entry
        end

        test "a message of another log, at the same offset, has no failures, #{name}" do
          text = Processing::CommitMetadata.write(2, failures: { 3 => three_failures })
          partition = partition(committed: Processing::CommitMetadata.read(text, 2), **order)
          put("a", "a", "a", "a") # the topic was deleted and created again
          item = draw(partition)
          until item.offsets.include?(3)
            finish(partition, item)
            item = draw(partition)
          end
          finish(partition, item) until item.slice.last_offset == 3
          assert_equal 0, item.failures.count
        end
      end

      private

      # A partition of which the third message is done, and the first two aren't.
      def leave_done_beyond
        @former = partition(**ORDERS["by key"])
        put("a", "a", "b")
        first, other = draw(@former), draw(@former)
        assert_equal [[0, 1], [2]], [first.offsets, other.offsets]
        assert_nil @former.commit_entry
        finish(@former, other)
        assert_equal 0, @former.position
      end

      # Processes what is there; returns the offsets.
      def processed(partition)
        offsets = []
        while partition.more?
          item = draw(partition)
          offsets.concat(item.offsets)
          finish(partition, item)
        end
        offsets
      end

      def metadata(partition)
        offset, _, text = partition.commit_entry.drop(2)
        Processing::CommitMetadata.read(text, offset)
      end

      def beyond(partition) = (0..9).select { |offset| metadata(partition).done?(offset) }

      def three_failures = Failure::FailureCount.new(since: OS.now, count: 3)

      # The partition at its next owner.
      def restored(**order)
        committed = metadata(@former)
        @queue = Fakes::PartitionQueue.new
        partition(committed:, **ORDERS["by key"], **order)
      end

      def put_again(offsets = 0...3)
        offsets.each { |offset| put(%w[a a b].fetch(offset), at: offset) }
      end

      def partition(id: 1, seeking: ->(place) { place }, origin: nil, committed: nil, progress: nil,
                    **options)
        Processing::AssignedPartition.new(
          Processing::PartitionReader.new(@queue, "t", 0), id:, wakeup_pipe: @wakeup_pipe,
          options: Config::SourceOptions.new(max_messages: 10, **options), seeking:, origin:,
          committed:, progress:
        )
      end

      def finish(partition, item)
        partition.done(item, item.last_offset)
        item.next_slice
        give_back(partition, item)
      end

      def give_back(partition, item)
        partition.release(item).filter_map { |part| partition.put_back(part) }
      end

      def put(*keys, bytes: 1, at: @next)
        @next = at
        keys.each do |key|
          @queue << Message.new("t", 0, @next, key, "v" * bytes, -1, {})
          @next += 1
        end
      end

      # Reads and draws, as the scheduler does.
      def draw(partition)
        partition.begin_reading
        partition.read
        partition.next_item
      end
    end
  end
end
