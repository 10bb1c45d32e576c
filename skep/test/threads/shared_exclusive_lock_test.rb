# frozen_string_literal: true

require "test_helper"
require "skep/threads"

module Skep
  module Threads
    class SharedExclusiveLockTest < ::Skep::TestCase
      # Reports each wait before it begins.
      class ReportingCondition < ConditionVariable
        attr_reader :waits

        def initialize
          super
          @waits = Thread::Queue.new
        end

        def wait(...)
          waits << true
          super
        end
      end

      def setup
        super
        @exclusive_lock = Threads::SharedExclusiveLock.new
        @changed = ReportingCondition.new
        @exclusive_lock.instance_variable_set(:@changed, @changed)
        @events = Thread::Queue.new
        @threads = []
      end

      def teardown
        @threads.each(&:join)
        super
      end

      test "runs shared blocks side by side" do
        pushes = Array.new(3) { enter }
        assert_equal [:in] * 3, Array.new(3) { @events.pop }
        pushes.each { |push| push << true }
      end

      test "an exclusive block runs when no other does, and no other runs beside it" do
        first = enter
        assert_equal :in, @events.pop
        alone = enter_late(:alone, exclusive: true)
        late = enter_late(:late)
        first << true
        assert_equal :alone, @events.pop
        @exclusive_lock.instance_variable_get(:@lock).synchronize { assert_empty @events }
        alone << true
        assert_equal :late, @events.pop
        late << true
      end

      test "exclusive blocks run one after the other" do
        first = enter(exclusive: true)
        assert_equal :in, @events.pop
        second = enter_late(:second, exclusive: true)
        assert_empty @events
        first << true
        assert_equal :second, @events.pop
        second << true
      end

      test "a block that raises releases the lock" do
        2.times do
          assert_raises(IOError) { @exclusive_lock.synchronize(exclusive: true) { raise IOError } }
        end
        assert_equal(:done, @exclusive_lock.synchronize { :done })
      end

      test "once closed, runs no block, not even one that has waited" do
        first = enter
        @events.pop
        enter_late(:alone, exclusive: true)
        enter_late(:late)
        @exclusive_lock.close
        @threads.drop(1).each(&:join)
        first << true
        assert_nil(@exclusive_lock.synchronize { flunk "has run" })
        assert_empty @events
      end

      private

      # A thread that reports when its block runs; the block ends when something is pushed.
      def enter(as = :in, **how)
        push = Thread::Queue.new
        @threads << Thread.new do
          @exclusive_lock.synchronize(**how) do
            @events << as
            push.pop
          end
        end
        push
      end

      # The same for a block that has to wait; returns once it waits.
      def enter_late(as, **how)
        @changed.waits.clear
        enter(as, **how).tap { @changed.waits.pop }
      end
    end
  end
end
