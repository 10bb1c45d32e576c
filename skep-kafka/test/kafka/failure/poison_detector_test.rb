# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "skep/swarm"
require "support/fakes"

module Skep
  module Kafka
    # What PoisonDetector concludes from the supervisor's suspects.
    class PoisonDetectorTest < ::Skep::TestCase
      def setup
        super
        @events = []
        @suspects = Swarm::IPC::CrashSuspects.new
      end

      test "suspects nothing without a crash" do
        refute_predicate poison, :any?
        refute poison.poison?(batch(5))
        refute poison.alone?(batch(5))
      end

      test "returns the suspected offsets of a batch, by its topic and partition" do
        crash("or/ders/0/10-20", 15)
        crash("orders/0/40-50")
        crash("orders/1/1-100")
        assert_equal [40..50], poison.ranges(batch(30, 99))
        assert_equal [40..50], poison.ranges(batch(45, 46))
        assert_empty poison.ranges(batch(30, 39))
        assert_empty poison.ranges(batch(51, 99))
      end

      test "suspects the yielded message, or all messages of a batch if that one is unknown" do
        crash("orders/0/10-20", 15)
        crash("orders/0/40-50")
        assert_equal [15, *40..50], suspected
        assert_equal [15..15], poison.ranges(batch(10, 20))
        refute poison.alone?(batch(10, 20))
        assert_equal [15], ((0..60).select { |offset| poison.named?(batch(offset)) })
      end

      test "suspects what two crashes have in common, if they were at different messages" do
        crash("orders/0/10-20", 15)
        crash("orders/0/18-40", 30, time: 2.0)
        assert_equal [15, 18, 19, 20, 30], suspected
        crash("orders/0/19-19", 19, time: 3.0)
        crash("orders/0/41-60", 50, time: 4.0)
        assert_equal [15, 18, 19, 20, 30, 50], suspected
      end

      # Ordered by key, two threads have parts of one range.
      test "suspects only the yielded messages of one crash" do
        held = [["orders/0/10-40", 15], ["orders/0/12-50", 30]]
        @suspects.record_crash(held, 0, 1.0, "SIGSEGV")
        assert_equal [15, 30], suspected
      end

      test "suspects nothing else once a message has crashed a node alone" do
        crash("orders/0/10-40", 15)
        crash("orders/0/15-15", 15, time: 2.0)
        crash("orders/0/12-50", 30, time: 3.0)
        assert_equal [15, 30], suspected
      end

      test "a message that was alone in its node at three crashes is poison" do
        crash("orders/0/10-20", 15)
        crash("orders/0/15-15", 15)
        refute poison.poison?(batch(15))
        crash("orders/0/15-15")
        assert poison.poison?(batch(15))
        assert_equal [3, %w[SIGSEGV] * 3], [poison.crashes(batch(15)), poison.ends(batch(15))]
        assert_empty((10..20).select { |offset| offset != 15 && poison.poison?(batch(offset)) })
      end

      test "counts crashes near a message in the total only" do
        @suspects.record_crash([["orders/0/7-7", 7], ["orders/1/0-0", nil]], 0, 1.0, "SIGSEGV")
        3.times { crash("orders/0/7-7", 7) }
        assert_equal [3, 4], [poison.crashes(batch(7)), poison.total(batch(7))]
      end

      test "counts no crash with another message in progress, and none with a batch" do
        5.times do
          @suspects.record_crash([["orders/0/7-7", 7], ["orders/1/0-0", nil]], 0, 1.0, "SIGSEGV")
        end
        5.times { crash("orders/0/7-20") }
        refute poison.poison?(batch(7))
        assert_equal 0, poison.crashes(batch(7))
      end

      test "a batch of several messages is never poison" do
        4.times { crash("orders/0/5-5") }
        refute poison.poison?(batch(5, 6))
      end

      test "clears suspects before the position, and no others" do
        crash("orders/0/10-20", 15)
        crash("orders/0/15-15")
        crash("orders/1/0-0")
        poison.clear(["orders", 0], 16)
        assert_equal [["suspects_resolved", { "suspects" => [["orders/0/15-15", nil]],
                                               "blamed" => false }]],
                     @events
        poison.clear(["orders", 0], 31)
        assert_equal [["orders/0/10-20", 15]], @events.last.last["suspects"]
        poison.clear(["orders", 0], 32)
        poison.clear(["orders", 0], nil)
        assert_equal 2, @events.size
      end

      test "blames a poison message for each crash near it" do
        crash("orders/0/10-20")
        crash("orders/0/15-15")
        crash("orders/0/16-16")
        poison.report_poison(batch(15))
        assert_equal [["suspects_resolved", { "suspects" => [["orders/0/10-20", nil],
                                                               ["orders/0/15-15", nil]],
                                   "blamed" => true }]], @events
      end

      test "ignores a suspect that isn't a batch" do
        ["a job", "orders/0", "orders/0/1-", "/0/1-2"].each { |name| crash(name) }
        refute poison.alone?(batch(1))
        assert_empty poison.ranges(batch(0, 9))
      end

      private

      def crash(name, at = nil, time: 1.0)
        @poison = nil
        @suspects.record_crash([[name, at]], 0, time, "SIGSEGV")
      end

      def suspected = (0..60).select { |offset| poison.alone?(batch(offset)) }

      def poison
        @poison ||= begin
          report = ->(*event) { @events << event }
          crash_suspects = Swarm::Processes::KnownSuspects.new(@suspects.to_plain, report:)
          Failure::PoisonDetector.new(crash_suspects)
        end
      end

      def batch(first, last = first)
        messages = (first..last).map { |n| Message.new("orders", 0, n, "", "", 0, {}) }
        Processing::Slice.new("orders", 0, messages)
      end
    end
  end
end
