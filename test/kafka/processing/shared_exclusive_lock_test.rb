# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    class GateTest < ::Skep::TestCase
      # Says so before it waits.
      class Told < ConditionVariable
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
        @exclusive_lock = Processing::SharedExclusiveLock.new
        @moved = Told.new
        @exclusive_lock.instance_variable_set(:@moved, @moved)
        @told = Thread::Queue.new
        @threads = []
      end

      def teardown
        @threads.each(&:join)
        super
      end

      test "lets in who comes, side by side" do
        pushes = Array.new(3) { enter }
        assert_equal [:in] * 3, Array.new(3) { @told.pop }
        pushes.each { |push| push << true }
      end

      test "lets one in alone when all others are through, and nobody after it until it is, too" do
        first = enter
        assert_equal :in, @told.pop
        alone = enter_late(:alone, alone: true)
        late = enter_late(:late)
        first << true
        assert_equal :alone, @told.pop
        @exclusive_lock.instance_variable_get(:@lock).synchronize { assert_empty @told }
        alone << true
        assert_equal :late, @told.pop
        late << true
      end

      test "lets those be alone one after the other" do
        first = enter(alone: true)
        assert_equal :in, @told.pop
        second = enter_late(:second, alone: true)
        assert_empty @told
        first << true
        assert_equal :second, @told.pop
        second << true
      end

      test "is left by who raises" do
        2.times { assert_raises(IOError) { @exclusive_lock.pass(alone: true) { raise IOError } } }
        assert_equal(:done, @exclusive_lock.pass { :done })
      end

      test "lets nobody in once it is closed, not even who has waited" do
        first = enter
        @told.pop
        enter_late(:alone, alone: true)
        enter_late(:late)
        @exclusive_lock.close
        @threads.drop(1).each(&:join)
        first << true
        assert_nil(@exclusive_lock.pass { flunk "let in" })
        assert_empty @told
      end

      private

      # A thread that tells when it is in, and stays until something is pushed.
      def enter(as = :in, **how)
        push = Thread::Queue.new
        @threads << Thread.new do
          @exclusive_lock.pass(**how) do
            @told << as
            push.pop
          end
        end
        push
      end

      # The same for one that has to wait: it does so by now.
      def enter_late(as, **how)
        @moved.waits.clear
        enter(as, **how).tap { @moved.waits.pop }
      end
    end
  end
end
