# frozen_string_literal: true

require "kafka/support/kafka_case"

module Skep
  module Kafka
    # The desk alone: partitions are stand-ins without a client behind them.
    class DeskTest < ::KafkaCase
      # What the desk asks of a partition: of `strands` it gives one a draw, one at a time unless
      # `wide`.
      Stub = Struct.new(:id, :key, :state, :rung, :retry_at, :revoked, :position, :gathering,
                        :strands, :wide, :waits, :place, :plan, :last_success,
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
        def stale?(strand) = !strand.plan.equal?(plan)
        def more? = seeking? ? in_hand.zero? : strands.positive? && (wide || in_hand.zero?)
        def done(_strand, offset) = self.position = offset + 1
        def release(strand) = (self.released ||= []) << strand
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

          self.strands -= 1
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
        @desk = Processing::Scheduler.new
      end

      def teardown
        @desk.close
        @desk.clear
        super
      end

      test "gives a partition to one at a time" do
        add(1, strands: 2)
        strand = take
        assert_equal 1, strand.partition.id
        assert_nil take
        @desk.bell.ring(1)
        @desk.listen
        assert_nil take
        @desk.free(strand)
        assert_equal 1, take.partition.id
      end

      test "gives one that has it so to several at a time" do
        add(1, strands: 3, wide: true)
        strands = Array.new(3) { take }
        assert_equal 3, strands.first.partition.in_hand
        assert_nil take
        strands.each { |strand| @desk.free(strand) }
        assert_equal 0, strands.first.partition.in_hand
      end

      test "wakes the one who listens for a new partition" do
        add(1)
        refute_nil @desk.bell.io.wait_readable(0)
      end

      test "lets a strand rest until its time, while others go on" do
        add(1)
        add(2)
        first = take
        first.rest(600)
        @desk.free(first)
        assert_equal 2, take.partition.id
        @desk.bell.ring(1)
        @desk.listen
        assert_nil take
        assert_in_delta OS.now + 600, @desk.next_deadline, 60
        @desk.listen(@desk.next_deadline)
        assert_same first, take
        refute first.partition.released
        first.pass
        @desk.free(first)
        assert_equal [first], first.partition.released
      end

      test "ends the rest of a strand by a success that was begun after it failed" do
        add(1, strands: 3, wide: true)
        strands = Array.new(3) { take }
        now = OS.now
        strands[0].rest(600, awaiting: now)
        strands[1].rest(600) # for another reason
        strands.first(2).each { |strand| @desk.free(strand) }
        @desk.succeeded(strands[2].partition, now)
        assert_nil take
        @desk.succeeded(strands[2].partition, now + 1)
        assert_same strands[0], take
        assert_nil take
      end

      test "lets no strand rest that awaits what has happened before it is freed" do
        add(1, strands: 2, wide: true)
        one, other = take, take
        one.rest(600, awaiting: OS.now)
        @desk.succeeded(other.partition, OS.now + 1)
        @desk.free(one)
        assert_same one, take
      end

      test "has one of the strands that await a success tried soon, whatever becomes of others" do
        add(1, strands: 3, wide: true)
        one, other, third = take, take, take
        refute @desk.probe(one.partition)
        now = OS.now
        [one, other].each do |strand|
          strand.rest(600, awaiting: now)
          @desk.free(strand)
        end
        assert_operator [one, other].map(&:retry_at).min, :<, now + 300
        @desk.listen(now + 300)
        probe = take
        probe.rest(3600) # it was asked to pause
        @desk.free(probe)
        @desk.free(third.tap(&:pass))
        @desk.listen(now + 300)
        assert_same [one, other].find { |strand| !strand.equal?(probe) }, take
      end

      test "gives out what a strand was divided into by itself" do
        add(1)
        strand = take
        other = Processing::WorkItem.new(strand.partition, [:batch])
        strand.instance_variable_get(:@offshoots) << other
        strand.rest(60)
        other.retry_at = nil
        @desk.free(strand)
        assert_same other, take
        assert_nil take
      end

      test "wakes what gathers messages when more have come" do
        partition = add(1, gathering: true, waits: OS.now + 60, strands: 0)
        assert_nil take
        assert_equal :resting, partition.state
        partition.strands = 1
        @desk.bell.ring(1)
        @desk.listen
        assert_equal 1, take.partition.id
      end

      test "takes a partition back when its batch is done, and tells how far it came" do
        add(1)
        strand = take
        leaving = @desk.ask_back([["t", 1]])
        assert_equal [strand.partition], @desk.processing(leaving)
        noted = []
        Thread.new { @desk.settle(strand) { |to| noted << to } and @desk.free(strand) }.join
        refute_nil @desk.released.io.wait_readable(0)
        assert_empty @desk.processing(leaving)
        assert_equal [["t", 1, 42]], @desk.take_back(leaving)
        assert_equal [42], noted
        assert_equal :closed, strand.partition.state
        assert_empty @desk.keys
      end

      test "waits for all that is in hand of a partition before it is taken back" do
        add(1, strands: 2, wide: true)
        strands = [take, take]
        leaving = @desk.ask_back([["t", 1]])
        strands.each do |strand|
          assert_equal %i[busy closed].include?(strand.partition.state), false
          @desk.settle(strand) { nil }
          @desk.free(strand)
        end
        assert_equal [["t", 1, 42]], @desk.take_back(leaving)
        assert_equal :closed, strands.first.partition.state
      end

      test "gives up a partition whose batch takes too long, and then doesn't note it" do
        add(1)
        strand = take
        assert_empty @desk.revoke([["t", 1]])
        refute(@desk.settle(strand) { flunk "isn't ours any more" })
        @desk.free(strand)
        assert_equal :closed, strand.partition.state
      end

      test "holds back a partition that came again until the old batch is through" do
        add(1)
        old = take
        @desk.revoke([old.partition.key])
        add(2, key: old.partition.key)
        assert_nil take
        @desk.free(old)
        assert_equal 2, take.partition.id
      end

      test "reads a partition on one thread only, even if it is held back for just a moment" do
        lock = turnstile
        add(1)
        old = take
        @desk.revoke([old.partition.key])
        new = add(2, key: old.partition.key)
        reading, hold = Thread::Queue.new, Thread::Queue.new
        inside = 0
        new.define_singleton_method(:read) do |&_|
          raise "two read it at once" if (inside += 1) > 1

          (reading << true) && hold.pop
        end
        other = nil
        lock.after = lambda do
          @desk.free(old)
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
        add(1, strands: 2, wide: true)
        resting, seeking = take, take
        add(2)
        resting.rest(0)
        @desk.free(resting)
        @desk.seek(seeking, :beginning)
        assert_nil @desk.next_deadline
        assert_predicate seeking, :over?
        other = take
        other.rest(0)
        @desk.free(other)
        @desk.revoke([["t", 2]])
        assert_nil @desk.next_deadline
      end

      test "gives out nothing from before the partition went elsewhere, wherever it waited" do
        add(1, strands: 4, wide: true)
        resting, seeking = take, take
        resting.rest(0)
        @desk.free(resting)
        @desk.listen # it waits for a worker now, behind its partition
        @desk.seek(seeking, :beginning)
        @desk.free(seeking)
        fresh = take
        refute_predicate fresh.partition, :seeking?
        assert_equal [fresh.partition.plan] * 2, [fresh.plan, take.plan]
        assert_nil take
      end

      test "gives out nothing that a worker came by just before its partition went elsewhere" do
        lock = turnstile
        add(1, strands: 2, wide: true)
        popped, seeking = take, take
        @desk.free(popped) # another try, at once
        fresh = nil
        lock.before = lambda do
          @desk.seek(seeking, :beginning)
          @desk.free(seeking)
          seeking.partition.strands = 1 # from there
          fresh = take
        end
        assert_nil take
        assert_equal 1, fresh.partition.in_hand
      end

      test "notes a mark once, and what is beyond it at the end" do
        add(1)
        strand = take
        noted = []
        2.times { @desk.mark(strand, 40) { |to| noted << to } }
        @desk.settle(strand) { |to| noted << to }
        assert_equal [41, 42], noted
      end

      test "has nothing more for anybody once closed" do
        waiting = Thread.new { @desk.take }
        add(1)
        assert_equal 1, waiting.value.partition.id
        waiting = Thread.new { @desk.take }
        @desk.close
        assert_nil waiting.value
        add(2)
        assert_nil @desk.take
      end

      private

      def add(id, key: ["t", id], strands: 1, **more)
        partition = Stub.new(id:, key:, strands:, **more)
        partition.in_hand = 0
        @desk.add(partition)
        partition
      end

      # In the place of the dispatcher's lock.
      def turnstile
        dispatcher = @desk.instance_variable_get(:@dispatcher)
        lock = Turnstile.new(dispatcher.instance_variable_get(:@lock))
        dispatcher.instance_variable_set(:@lock, lock)
      end

      def take = @desk.take(wait: false)
    end
  end
end
