# frozen_string_literal: true

require "kafka/support/kafka_case"
require "support/fakes"

module Skep
  module Kafka
    # The scheduler with fake partitions, without a client.
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

      def setup
        super
        @stored = []
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

      test "a closed scheduler hands out nothing that it holds" do
        add(1)
        @scheduler.withhold
        @scheduler.close
        @scheduler.hand_out
        assert_nil @scheduler.next_item
      end

      test "wakes the main thread for a new partition" do
        add(1)
        refute_nil @scheduler.wakeup_pipe.io.wait_readable(0)
      end

      test "hands out an item in backoff when its backoff is over, and others before" do
        add(1)
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
        refute first.partition.released
        first.next_slice
        @scheduler.release(first)
        assert_equal [first], first.partition.released
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
        add(1)
        item = take
        other = Processing::WorkItem.new(item.partition, [:batch])
        item.instance_variable_get(:@split_off) << other
        item.back_off(60)
        other.retry_at = nil
        @scheduler.release(item)
        assert_same other, take
        assert_nil take
      end

      test "makes a partition ready that waits for more messages when they come" do
        partition = add(1, gathering: true, waits: OS.now + 60, items: 0)
        assert_nil take
        assert_equal :backoff, partition.state
        partition.items = 1
        @scheduler.wakeup_pipe.wake(1)
        @scheduler.wake_ready
        assert_equal 1, take.partition.id
      end

      test "a revocation returns the offset of the batch in progress once that is done" do
        add(1)
        item = take
        leaving = @scheduler.begin_revocation([["t", 1]])
        assert_equal [item.partition], @scheduler.processing(leaving)
        Thread.new { @scheduler.complete(item) and @scheduler.release(item) }.join
        refute_nil @scheduler.released.io.wait_readable(0)
        assert_empty @scheduler.processing(leaving)
        assert_equal [["t", 1, 42]], @scheduler.finish_revocation(leaving)
        assert_equal [["t", 1, 42, 7, "label"]], @stored
        assert_equal :closed, item.partition.state
        assert_empty @scheduler.keys
      end

      test "a revoked partition is closed when all its items are released" do
        add(1, items: 2, wide: true)
        items = [take, take]
        leaving = @scheduler.begin_revocation([["t", 1]])
        items.each do |item|
          assert_equal [item.partition], @scheduler.processing(leaving)
          refute_equal :closed, item.partition.state
          @scheduler.complete(item)
          @scheduler.release(item)
        end
        assert_empty @scheduler.processing(leaving)
        assert_equal [["t", 1, 42]], @scheduler.finish_revocation(leaving)
        assert_equal :closed, items.first.partition.state
      end

      test "stores no metadata for librdkafka to commit of more partitions than it has room for" do
        2_001.times { |n| add(n + 1, items: 1) }
        @scheduler.complete(take)
        assert_equal [["t", 1, 42, 7]], @stored
      end

      test "stores what is done once more, unless it may not be committed" do
        add(1, items: 1)
        add(2, items: 1)
        item = take
        @scheduler.complete(item)
        @stored.clear
        @scheduler.store_again
        assert_equal [["t", 1, 42]], @stored
      end

      test "stores no offset of a batch that ends after its partition is lost" do
        add(1)
        item = take
        assert_empty @scheduler.finish_revocation(@scheduler.begin_revocation([["t", 1]]))
        assert_equal [:partition_lost, []], [@scheduler.complete(item), @stored]
        @scheduler.release(item)
        assert_equal :closed, item.partition.state
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

          (reading << true) && hold.pop
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

      test "hands out no ready item from before a seek" do
        add(1, items: 4, wide: true)
        backed_off, seeking = take, take
        backed_off.back_off(0)
        @scheduler.release(backed_off)
        @scheduler.wake_ready # it is in the ready queue now, behind its partition
        @scheduler.seek(seeking, :beginning)
        @scheduler.release(seeking)
        fresh = take
        refute_predicate fresh.partition, :seeking?
        assert_equal [fresh.partition.order] * 2, [fresh.order, take.order]
        assert_nil take
      end

      test "hands out no item that a worker took from the queue just before a seek" do
        lock = hooked_lock
        add(1, items: 2, wide: true)
        popped, seeking = take, take
        @scheduler.release(popped) # ready for another try
        fresh = nil
        lock.before = lambda do
          @scheduler.seek(seeking, :beginning)
          @scheduler.release(seeking)
          seeking.partition.items = 1 # at the new place
          fresh = take
        end
        assert_nil take
        assert_equal 1, fresh.partition.in_flight
      end

      test "makes a partition that is idle or in backoff ready once, if it has messages" do
        add(1, items: 0)
        add(2, waits: OS.now + 600, gathering: true, items: 0)
        2.times { assert_nil take }
        [1, 2].each { |id| partition(id).items = 1 }
        partition(1).revoke(:begun)
        2.times { [1, 2].each { |id| wake(id) } }
        assert_equal [2, nil], [take.partition.id, take]
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
        failed.partition.define_singleton_method(:failed) { |item| item.equal?(failed) }
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
        partition = add(1, text: "a b")
        item = take do |asked|
          assert_equal [partition, "a b", :reading], [asked, asked.awaiting_keys, asked.state]
          wake(1)
          assert_nil take
          %w[a b]
        end
        assert_equal [%w[a b], 1, :idle], [partition.sorted, partition.in_flight, partition.state]
        assert_same partition, item.partition
      end

      test "asks for keys again if that has ended with an exception or its thread" do
        add(1, text: "a b")
        assert_raises(Interrupt) { take { raise Interrupt } }
        Thread.new { take { Thread.exit } }.join
        assert_equal "a b", take { |partition| break partition.awaiting_keys }
      end

      test "hands out nothing of a partition that is revoked while it asks for keys" do
        partition = add(1, text: "a b")
        item = take do
          @scheduler.finish_revocation(@scheduler.begin_revocation([["t", 1]]))
          refute_equal :closed, partition.state
          %w[a b]
        end
        assert_equal [nil, :closed], [item, partition.state]
      end

      test "stores a mark once, and the batch's end" do
        add(1)
        item = take
        2.times { assert_equal :stored, @scheduler.mark(item, 40) }
        @scheduler.complete(item)
        assert_equal [["t", 1, 41, 7, "label"], ["t", 1, 42, 7, "label"]], @stored
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

      def add(id, key: ["t", id], items: 1, **more)
        partition = Fakes::ScheduledPartition.new(id:, key:, items:, in_flight: 0, **more)
        @scheduler.add(partition)
        partition
      end

      def partition(id) = @scheduler.instance_variable_get(:@assignment)[id]

      def wake(id)
        @scheduler.wakeup_pipe.wake(id)
        @scheduler.wake_ready
      end

      def hooked_lock
        lock = HookedLock.new(@scheduler.instance_variable_get(:@lock))
        @scheduler.instance_variable_set(:@lock, lock)
      end

      def take(&) = @scheduler.next_item(wait: false, &)
    end
  end
end
