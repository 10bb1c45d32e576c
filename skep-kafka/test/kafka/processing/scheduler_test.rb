# frozen_string_literal: true

require "kafka/support/kafka_case"
require "support/fakes"

module Skep
  module Kafka
    # The scheduler with partitions whose queues are fakes.
    class SchedulerTest < ::KafkaCase
      # A lock that calls `before` before it is locked, and `after` once it is unlocked.
      class HookedLock < SimpleDelegator
        attr_writer :before, :after

        def synchronize
          step(:@before)
          super.tap { step(:@after) }
        end

        private

        def step(name) = instance_variable_get(name)&.tap { instance_variable_set(name, nil) }&.call
      end

      # A partition's messages. It knows whether it was closed.
      class Log < Fakes::PartitionQueue
        def close = @closed = true
        def closed? = @closed ? true : false

        # Adds the next message.
        def put(*key)
          @last = (@last || 40) + 1
          self << Message.new(*key, @last, nil, nil, 0, {})
        end
      end
      private_constant :Log

      def setup
        super
        @stored, @logs = [], {}
        @scheduler = Processing::Scheduler.new(offset_store: self)
      end

      def teardown
        teardown_scheduler
        super
      end

      def teardown_scheduler
        @scheduler.close
        @scheduler.clear
      end

      test "hands out one item of a partition ordered by offset at a time" do
        add(1, items: 2)
        item = take
        assert_equal 1, item.partition.id
        assert_nil take
        @scheduler.wakeup_pipe.wake(1)
        @scheduler.wake_ready
        assert_nil take
        @scheduler.release(item)
        assert_equal 1, take.partition.id
      end

      test "hands out several items of a partition ordered by key" do
        add(1, items: 3, wide: true)
        items = Array.new(3) { take }
        assert_equal 3, items.first.partition.in_flight
        assert_nil take
        items.each { |item| @scheduler.release(item) }
        assert_equal 0, items.first.partition.in_flight
      end

      test "while it holds, hands out nothing; then what was ready, and what became ready" do
        add(1, items: 2)
        item = take
        add(2)
        @scheduler.withhold
        assert_nil take
        @scheduler.release(item)
        add(3)
        assert_nil take
        2.times { @scheduler.hand_out }
        assert_equal [1, 2, 3], Array.new(3) { take.partition.id }.sort
      end

      test "while it holds, hands out no work item that was ready for another try" do
        add(1)
        item = take
        @scheduler.release(item)
        @scheduler.withhold
        assert_nil take
        @scheduler.hand_out
        assert_equal [item, nil], [take, take]
      end

      test "a closed scheduler hands out nothing that it holds" do
        add(1)
        @scheduler.withhold
        @scheduler.close
        @scheduler.hand_out
        assert_nil @scheduler.next_item
      end

      test "with several topics, a thread that ends has no turn any more" do
        teardown_scheduler
        several = Config::SeveralTopics.new([["t", {}, nil]], threads: 2, **KEYED, max_messages: 1)
        @options = Hash.new(several.for("t"))
        @scheduler = Processing::Scheduler.new(topic_queue: Processing::TopicQueue.new(several))
        add(1, items: 2)
        items = [proc { Thread.exit }, proc { %w[a] }, proc { %w[b] }].map do |keys|
          thread = Thread.new { take(&keys).tap { |item| @scheduler.release(item) } }
          assert thread.join(60), "it waits, as if all other threads had a turn"
          thread.value
        end
        assert_equal [nil, [41], [42]], items.map { |item| item&.offsets }
      end

      test "wakes the main thread for a new partition" do
        add(1)
        refute_nil @scheduler.wakeup_pipe.io.wait_readable(0)
      end

      test "hands out an item in backoff when its backoff is over, and others before" do
        add(1, items: 2)
        add(2)
        first = take
        first.back_off(600)
        @scheduler.release(first)
        assert_equal 2, take.partition.id
        @scheduler.wakeup_pipe.wake(1)
        @scheduler.wake_ready
        assert_nil take
        assert_in_delta OS.now + 600, @scheduler.next_deadline, 60
        @scheduler.wake_ready(@scheduler.next_deadline)
        assert_same first, take
        assert_nil take
        first.next_slice
        @scheduler.release(first)
        assert_equal [42], take.offsets
      end

      test "a success that began after a failure ends the item's backoff" do
        add(1, items: 3, wide: true)
        items = Array.new(3) { take }
        now = OS.now
        items[0].back_off(600, awaits_success: true)
        items[1].back_off(600) # awaits no success
        items.first(2).each { |item| @scheduler.release(item) }
        @scheduler.succeeded(items[2].partition, now)
        assert_nil take
        @scheduler.succeeded(items[2].partition, now + 1)
        assert_same items[0], take
        assert_nil take
      end

      test "an item is ready at once if the success it waits for came before its release" do
        add(1, items: 2, wide: true)
        one, other = take, take
        one.back_off(600, awaits_success: true)
        @scheduler.succeeded(other.partition, OS.now + 1)
        @scheduler.release(one)
        assert_same one, take
      end

      test "tries one item that waits for a success soon, and the next one if that pauses" do
        add(1, items: 3, wide: true)
        one, other, third = take, take, take
        refute @scheduler.awaiting_success?(one.partition)
        now = OS.now
        [one, other].each do |item|
          item.back_off(600, awaits_success: true)
          @scheduler.release(item)
        end
        assert @scheduler.awaiting_success?(one.partition)
        assert_operator [one, other].map(&:retry_at).min, :<, now + 300
        @scheduler.wake_ready(now + 300)
        probe = take
        probe.back_off(3600) # its handler asked for a pause
        @scheduler.release(probe)
        @scheduler.release(third.tap(&:next_slice))
        @scheduler.wake_ready(now + 300)
        assert_same [one, other].find { |item| !item.equal?(probe) }, take
      end

      test "hands out the parts of an item separately" do
        add(1, items: 2, wide: true, max_messages: 2)
        item = take
        other = item.split_failed_key(41)
        item.back_off(60)
        @scheduler.release(item)
        assert_same other, take
        assert_nil take
      end

      test "makes a partition ready that waits for more messages when they come" do
        partition = add(1, max_wait: 60, max_messages: 2)
        assert_nil take
        assert_equal :backoff, partition.state
        put(partition)
        wake(1)
        assert_equal [41, 42], take.offsets
      end

      test "a revocation returns the offset of the batch in progress once that is done" do
        add(1)
        item = take
        leaving = @scheduler.begin_revocation([["t", 1]])
        assert_equal [item.partition], @scheduler.processing(leaving)
        Thread.new { @scheduler.complete(item) and @scheduler.release(item) }.join
        refute_nil @scheduler.released.io.wait_readable(0)
        assert_empty @scheduler.processing(leaving)
        assert_equal [["t", 1, 42]], offsets(@scheduler.finish_revocation(leaving))
        assert_equal [["t", 1, 42]], offsets(@stored)
        assert closed?(item.partition)
        assert_empty @scheduler.keys
      end

      test "a revoked partition is closed when all its items are released" do
        add(1, items: 2, wide: true)
        items = [take, take]
        leaving = @scheduler.begin_revocation([["t", 1]])
        items.each do |item|
          assert_equal [item.partition], @scheduler.processing(leaving)
          refute closed?(item.partition)
          @scheduler.complete(item)
          @scheduler.release(item)
        end
        assert_empty @scheduler.processing(leaving)
        assert_equal [["t", 1, 43]], offsets(@scheduler.finish_revocation(leaving))
        assert closed?(items.first.partition)
      end

      test "stores no metadata for librdkafka to commit of more partitions than it has room for" do
        2_000.times { |n| add(n + 1) }
        @scheduler.complete(take)
        add(2_001)
        @scheduler.complete(take)
        assert_equal [String, NilClass], @stored.map { |entry| entry[4].class }
      end

      test "stores what is done once more, unless it may not be committed" do
        add(1)
        add(2)
        @scheduler.complete(take)
        @stored.clear
        @scheduler.store_again
        assert_equal [["t", 1, 42]], offsets(@stored)
      end

      test "stores no offset of a batch that ends after its partition is lost" do
        add(1)
        item = take
        assert_empty @scheduler.finish_revocation(@scheduler.begin_revocation([["t", 1]]))
        assert_equal [:partition_lost, []], [@scheduler.complete(item), @stored]
        @scheduler.release(item)
        assert closed?(item.partition)
      end

      test "a new assignment waits for the batch of the earlier one" do
        add(1)
        old = take
        @scheduler.finish_revocation(@scheduler.begin_revocation([old.partition.key]))
        add(2, key: old.partition.key)
        assert_nil take
        @scheduler.release(old)
        assert_equal 2, take.partition.id
      end

      test "reads a partition on one thread only, even if its wait ends in the meantime" do
        lock = hooked_lock
        add(1)
        old = take
        @scheduler.finish_revocation(@scheduler.begin_revocation([old.partition.key]))
        new = add(2, key: old.partition.key)
        reading, hold = Thread::Queue.new, Thread::Queue.new
        inside = 0
        new.define_singleton_method(:read) do
          raise "two threads read it at once" if (inside += 1) > 1

          reading << true
          hold.pop
          super()
        end
        other = nil
        lock.after = lambda do
          @scheduler.release(old)
          other = Thread.new { take }
          reading.pop
        end
        assert_nil take
        hold << true
        assert_same new, other.value.partition
      ensure
        hold&.close
        other&.join
      end

      test "a revocation and a seek end the backoff of the partition's items" do
        add(1, items: 2, wide: true)
        backed_off, seeking = take, take
        add(2)
        backed_off.back_off(0)
        @scheduler.release(backed_off)
        @scheduler.seek(seeking, :beginning)
        assert_nil @scheduler.next_deadline
        assert_predicate seeking, :done?
        other = take
        other.back_off(0)
        @scheduler.release(other)
        @scheduler.finish_revocation(@scheduler.begin_revocation([["t", 2]]))
        assert_nil @scheduler.next_deadline
      end

      test "a failure, a wake-up and a revocation don't visit all partitions that fail" do
        some = Array.new(1_000) { |id| add(id) }
        @scheduler.succeeded(some.first, OS.now)
        items = Array.new(1_000) { take }
        items.each do |item|
          @scheduler.failed(item.partition)
          item.back_off(600)
          @scheduler.release(item)
        end
        steps = [steps { @scheduler.success_elsewhere(some.last, 41) },
                 steps { @scheduler.wake_ready }, steps { @scheduler.next_deadline },
                 steps { @scheduler.begin_revocation(some.map(&:key)) } / some.size]
        assert_operator steps.max, :<, 300, steps.to_s
        assert_nil @scheduler.next_deadline
      end

      test "hands out no ready item from before a seek" do
        partition = add(1, items: 2, wide: true, again: 2)
        backed_off, seeking = take, take
        backed_off.back_off(0)
        @scheduler.release(backed_off)
        @scheduler.wake_ready # it is in the ready queue now, behind its partition
        @scheduler.seek(seeking, :beginning)
        @scheduler.release(seeking)
        fresh = take
        refute_predicate partition, :seeking?
        assert_equal [43, 44], [fresh, take].flat_map(&:offsets)
        assert_nil take
      end

      test "hands out no item that a worker took from the queue just before a seek" do
        lock = hooked_lock
        add(1, items: 2, wide: true, again: 1)
        popped, seeking = take, take
        assert_nil take
        @scheduler.release(popped) # ready for another try
        fresh = nil
        lock.before = lambda do
          @scheduler.seek(seeking, :beginning)
          @scheduler.release(seeking)
          fresh = take
        end
        assert_nil take
        assert_equal [[43], 1], [fresh.offsets, fresh.partition.in_flight]
      end

      test "makes a partition that is idle or in backoff ready once, if it has messages" do
        some = [add(1, items: 0), add(2, max_wait: 600, max_messages: 2), add(3, items: 0)]
        2.times { assert_nil take }
        some.each { |partition| put(partition) }
        some.first.begin_revocation
        2.times { [1, 2, 3].each { |id| wake(id) } }
        assert_equal [2, 3, nil], [take, take].map { |item| item.partition.id } << take
      end

      test "reports what is done, and failures of single messages, to be committed" do
        reports = []
        committer = Object.new
        %i[done failed].each do |name|
          committer.define_singleton_method(name) { |partition| reports << [name, partition.id] }
        end
        committer.define_singleton_method(:close) { nil }
        teardown_scheduler
        @scheduler = Processing::Scheduler.new(offset_store: self, offset_committer: committer)
        add(1, items: 3, wide: true)
        done, failed, paused = take, take, take
        failed.failed(42)
        @scheduler.complete(done)
        [failed, paused].each { |item| @scheduler.release(item.tap { item.back_off(600) }) }
        assert_equal [[:done, 1], [:failed, 1]], reports
      end

      test "wakes the main thread for a new backoff" do
        add(1)
        item = take
        @scheduler.wakeup_pipe.drain
        item.back_off(600)
        @scheduler.release(item)
        assert @scheduler.wakeup_pipe.io.wait_readable(0)
      end

      test "asks for the keys of messages, while no other thread reads the partition" do
        partition = add(1, items: 2, **KEYED)
        item = take do |asked|
          assert_equal [partition, :reading], [asked, asked.state]
          assert_equal "t/1/41-42", asked.awaiting_keys.label
          wake(1)
          assert_nil take
          %w[a b]
        end
        assert_equal [%w[a b], 1], [item.keys.values, partition.in_flight]
        assert_nil take
      end

      test "asks for keys again if that has ended with an exception or its thread" do
        add(1, items: 2, **KEYED)
        assert_raises(Interrupt) { take { raise Interrupt } }
        Thread.new { take { Thread.exit } }.join
        assert_equal "t/1/41-42", take { |partition| break partition.awaiting_keys }.label
      end

      test "hands out nothing of a partition that is revoked while it asks for keys" do
        partition = add(1, items: 2, **KEYED)
        item = take do
          @scheduler.finish_revocation(@scheduler.begin_revocation([["t", 1]]))
          refute closed?(partition)
          %w[a b]
        end
        assert_equal [nil, true], [item, closed?(partition)]
      end

      test "stores a mark once, and the batch's end" do
        add(1, items: 2, max_messages: 2)
        item = take
        2.times { assert_equal :stored, @scheduler.mark(item, 41) }
        @scheduler.complete(item)
        assert_equal [["t", 1, 42], ["t", 1, 43]], offsets(@stored)
      end

      test "hands out nothing once closed" do
        waiting = Thread.new { @scheduler.next_item }
        add(1)
        assert_equal 1, waiting.value.partition.id
        waiting = Thread.new { @scheduler.next_item }
        @scheduler.close
        assert_nil waiting.value
        add(2)
        assert_nil @scheduler.next_item
      end

      # Stands for the consumer: records what is stored.
      def store(*place) = @stored << place

      private

      # items: how many messages have come, each a work item; wide: by key, all of them at once.
      # again: how many more a seek finds.
      def add(id, key: ["t", id], items: 1, wide: false, again: 0, **options)
        log = @logs[id] = Log.new
        partition = Processing::AssignedPartition.new(
          Processing::PartitionReader.new(log, *key), id:, wakeup_pipe: @scheduler.wakeup_pipe,
          options: options(ordered_by: wide ? :key : :partition, **options), origin: ORIGIN,
          seeking: ->(_) { again.times { put(partition) } }
        )
        items.times { put(partition) }
        @scheduler.add(partition)
        partition
      end

      ORIGIN = Processing::OffsetOrigin.new("cluster", "topic")
      KEYED = { ordered_by: :key.to_proc, max_messages: 3 }.freeze
      private_constant :ORIGIN, :KEYED

      def options(**options)
        (@options ||= {})[options] ||= Config::SourceOptions.new(max_messages: 1, **options)
      end

      def put(partition) = @logs.fetch(partition.id).put(*partition.key)
      def closed?(partition) = @logs.fetch(partition.id).closed?
      def offsets(entries) = entries.map { |entry| entry.first(3) }

      def wake(id)
        @scheduler.wakeup_pipe.wake(id)
        @scheduler.wake_ready
      end

      # Returns how many methods and blocks are called by the block.
      def steps(&)
        calls = 0
        trace = TracePoint.new(:call, :c_call, :b_call) { calls += 1 }
        trace.enable(target_thread: Thread.current, &)
        calls
      end

      def hooked_lock
        lock = HookedLock.new(@scheduler.instance_variable_get(:@lock))
        @scheduler.instance_variable_set(:@lock, lock)
      end

      def take(&) = @scheduler.next_item(wait: false, &)
    end
  end
end
