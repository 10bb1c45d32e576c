# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # The scheduler alone: partitions are stand-ins without a client behind them.
    class DeskTest < ::KafkaCase
      # What the scheduler asks of a partition: of `items` it gives one a draw, one at a time unless
      # `wide`.
      Stub = Struct.new(:id, :key, :state, :rung, :retry_at, :revoked, :position, :gathering,
                        :items, :wide, :waits, :place, :plan, :last_success,
                        keyword_init: true) do
        attr_accessor :in_hand

        def succeeded(began) = self.last_success = began
        def begin_reading = self.rung = false
        def errors = []
        def partition = self
        def busy? = in_hand.positive? || state == :busy
        def gathering? = gathering
        def seeking? = !place.nil?
        def seek(place, *) = self.place = place
        def waits_for = nil
        def waits_for?(_strand) = false
        def stale?(item) = !item.plan.equal?(plan)
        def more? = seeking? ? in_hand.zero? : items.positive? && (wide || in_hand.zero?)
        def done(_strand, offset) = self.position = offset + 1
        def release(item) = (self.released ||= []) << item
        def in_doubt? = false
        def progress = position && [*key, position]
        def close = self.state = :closed

        attr_accessor :released

        def read(&)
          self.retry_at = waits
          self.place, self.plan = nil, Object.new if seeking? && in_hand.zero?
        end

        def draw
          return if seeking? || !more?

          self.items -= 1
          batch = Batch.new(*key, [Message.new(*key, 41, nil, nil, 0, {})])
          Processing::WorkItem.new(self, [batch], plan:)
        end
      end

      # A lock that lets the test do something just before it is taken, or after it is given back.
      class Turnstile < SimpleDelegator
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
        @scheduler = Processing::Scheduler.new
      end

      def teardown
        @scheduler.close
        @scheduler.clear
        super
      end

      test "gives a partition to one at a time" do
        add(1, items: 2)
        item = take
        assert_equal 1, item.partition.id
        assert_nil take
        @scheduler.wakeup_pipe.wake(1)
        @scheduler.listen
        assert_nil take
        @scheduler.free(item)
        assert_equal 1, take.partition.id
      end

      test "gives one that has it so to several at a time" do
        add(1, items: 3, wide: true)
        items = Array.new(3) { take }
        assert_equal 3, items.first.partition.in_hand
        assert_nil take
        items.each { |item| @scheduler.free(item) }
        assert_equal 0, items.first.partition.in_hand
      end

      test "wakes the one who listens for a new partition" do
        add(1)
        refute_nil @scheduler.wakeup_pipe.io.wait_readable(0)
      end

      test "lets a strand rest until its time, while others go on" do
        add(1)
        add(2)
        first = take
        first.rest(600)
        @scheduler.free(first)
        assert_equal 2, take.partition.id
        @scheduler.wakeup_pipe.wake(1)
        @scheduler.listen
        assert_nil take
        assert_in_delta OS.now + 600, @scheduler.next_deadline, 60
        @scheduler.listen(@scheduler.next_deadline)
        assert_same first, take
        refute first.partition.released
        first.pass
        @scheduler.free(first)
        assert_equal [first], first.partition.released
      end

      test "ends the rest of a strand by a success that was begun after it failed" do
        add(1, items: 3, wide: true)
        items = Array.new(3) { take }
        now = OS.now
        items[0].rest(600, awaiting: now)
        items[1].rest(600) # for another reason
        items.first(2).each { |item| @scheduler.free(item) }
        @scheduler.succeeded(items[2].partition, now)
        assert_nil take
        @scheduler.succeeded(items[2].partition, now + 1)
        assert_same items[0], take
        assert_nil take
      end

      test "lets no strand rest that awaits what has happened before it is freed" do
        add(1, items: 2, wide: true)
        one, other = take, take
        one.rest(600, awaiting: OS.now)
        @scheduler.succeeded(other.partition, OS.now + 1)
        @scheduler.free(one)
        assert_same one, take
      end

      test "has one of the strands that await a success tried soon, whatever becomes of others" do
        add(1, items: 3, wide: true)
        one, other, third = take, take, take
        refute @scheduler.probe(one.partition)
        now = OS.now
        [one, other].each do |item|
          item.rest(600, awaiting: now)
          @scheduler.free(item)
        end
        assert_operator [one, other].map(&:retry_at).min, :<, now + 300
        @scheduler.listen(now + 300)
        probe = take
        probe.rest(3600) # it was asked to pause
        @scheduler.free(probe)
        @scheduler.free(third.tap(&:pass))
        @scheduler.listen(now + 300)
        assert_same [one, other].find { |item| !item.equal?(probe) }, take
      end

      test "gives out what a strand was divided into by itself" do
        add(1)
        item = take
        other = Processing::WorkItem.new(item.partition, [:batch])
        item.instance_variable_get(:@offshoots) << other
        item.rest(60)
        other.retry_at = nil
        @scheduler.free(item)
        assert_same other, take
        assert_nil take
      end

      test "wakes what gathers messages when more have come" do
        partition = add(1, gathering: true, waits: OS.now + 60, items: 0)
        assert_nil take
        assert_equal :resting, partition.state
        partition.items = 1
        @scheduler.wakeup_pipe.wake(1)
        @scheduler.listen
        assert_equal 1, take.partition.id
      end

      test "takes a partition back when its batch is done, and tells how far it came" do
        add(1)
        item = take
        leaving = @scheduler.ask_back([["t", 1]])
        assert_equal [item.partition], @scheduler.processing(leaving)
        noted = []
        Thread.new { @scheduler.settle(item) { |to| noted << to } and @scheduler.free(item) }.join
        refute_nil @scheduler.released.io.wait_readable(0)
        assert_empty @scheduler.processing(leaving)
        assert_equal [["t", 1, 42]], @scheduler.take_back(leaving)
        assert_equal [42], noted
        assert_equal :closed, item.partition.state
        assert_empty @scheduler.keys
      end

      test "waits for all that is in hand of a partition before it is taken back" do
        add(1, items: 2, wide: true)
        items = [take, take]
        leaving = @scheduler.ask_back([["t", 1]])
        items.each do |item|
          assert_equal %i[busy closed].include?(item.partition.state), false
          @scheduler.settle(item) { nil }
          @scheduler.free(item)
        end
        assert_equal [["t", 1, 42]], @scheduler.take_back(leaving)
        assert_equal :closed, items.first.partition.state
      end

      test "gives up a partition whose batch takes too long, and then doesn't note it" do
        add(1)
        item = take
        assert_empty @scheduler.revoke([["t", 1]])
        refute(@scheduler.settle(item) { flunk "isn't ours any more" })
        @scheduler.free(item)
        assert_equal :closed, item.partition.state
      end

      test "holds back a partition that came again until the old batch is through" do
        add(1)
        old = take
        @scheduler.revoke([old.partition.key])
        add(2, key: old.partition.key)
        assert_nil take
        @scheduler.free(old)
        assert_equal 2, take.partition.id
      end

      test "reads a partition on one thread only, even if it is held back for just a moment" do
        lock = turnstile
        add(1)
        old = take
        @scheduler.revoke([old.partition.key])
        new = add(2, key: old.partition.key)
        reading, hold = Thread::Queue.new, Thread::Queue.new
        inside = 0
        new.define_singleton_method(:read) do |&_|
          raise "two read it at once" if (inside += 1) > 1

          (reading << true) && hold.pop
        end
        other = nil
        lock.after = lambda do
          @scheduler.free(old)
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

      test "forgets what rests of a partition that is taken back, or goes on elsewhere" do
        add(1, items: 2, wide: true)
        resting, seeking = take, take
        add(2)
        resting.rest(0)
        @scheduler.free(resting)
        @scheduler.seek(seeking, :beginning)
        assert_nil @scheduler.next_deadline
        assert_predicate seeking, :over?
        other = take
        other.rest(0)
        @scheduler.free(other)
        @scheduler.revoke([["t", 2]])
        assert_nil @scheduler.next_deadline
      end

      test "gives out nothing from before the partition went elsewhere, wherever it waited" do
        add(1, items: 4, wide: true)
        resting, seeking = take, take
        resting.rest(0)
        @scheduler.free(resting)
        @scheduler.listen # it waits for a worker now, behind its partition
        @scheduler.seek(seeking, :beginning)
        @scheduler.free(seeking)
        fresh = take
        refute_predicate fresh.partition, :seeking?
        assert_equal [fresh.partition.plan] * 2, [fresh.plan, take.plan]
        assert_nil take
      end

      test "gives out nothing that a worker came by just before its partition went elsewhere" do
        lock = turnstile
        add(1, items: 2, wide: true)
        popped, seeking = take, take
        @scheduler.free(popped) # another try, at once
        fresh = nil
        lock.before = lambda do
          @scheduler.seek(seeking, :beginning)
          @scheduler.free(seeking)
          seeking.partition.items = 1 # from there
          fresh = take
        end
        assert_nil take
        assert_equal 1, fresh.partition.in_hand
      end

      test "notes a mark once, and what is beyond it at the end" do
        add(1)
        item = take
        noted = []
        2.times { @scheduler.mark(item, 40) { |to| noted << to } }
        @scheduler.settle(item) { |to| noted << to }
        assert_equal [41, 42], noted
      end

      test "has nothing more for anybody once closed" do
        waiting = Thread.new { @scheduler.take }
        add(1)
        assert_equal 1, waiting.value.partition.id
        waiting = Thread.new { @scheduler.take }
        @scheduler.close
        assert_nil waiting.value
        add(2)
        assert_nil @scheduler.take
      end

      private

      def add(id, key: ["t", id], items: 1, **more)
        partition = Stub.new(id:, key:, items:, **more)
        partition.in_hand = 0
        @scheduler.add(partition)
        partition
      end

      # In the place of the dispatcher's lock.
      def turnstile
        dispatcher = @scheduler.instance_variable_get(:@dispatcher)
        lock = Turnstile.new(dispatcher.instance_variable_get(:@lock))
        dispatcher.instance_variable_set(:@lock, lock)
      end

      def take = @scheduler.take(wait: false)
    end
  end
end
