# frozen_string_literal: true

require "test_helper"
require "skep/swarm"
require "skep/kafka"

module Skep
  module Kafka
    # What processes of a swarm see of each other's messages.
    class TopicEvidenceTest < ::Skep::TestCase
      KIND = 7

      def setup
        @layout = Swarm::IPC::Scoreboard::Layout.new(nodes: 3, threads: 0)
        @page = OS::SharedPage.create(@layout.total)
        @page.set(@layout.shared, Swarm::IPC::Scoreboard::Layout::USED, 3)
        @one, @two = process(0), process(1)
      end

      def teardown = @page.close

      test "counts what succeeds and what fails first after a message has failed first" do
        fail_at(@one, 9)
        history = fail_at(@one, 1)
        succeed(@one, 21)
        fail_at(@one, 9) # it has failed before
        fail_at(@one, 2)
        assert_equal [21, 1], about(@one, 1, history).messages
      end

      test "units that fail before anything of them has succeeded fail together" do
        fail_at(@one, 5, unit: :e)
        history = fail_at(@one, 1, unit: :a)
        fail_at(@one, 2, unit: :b)
        succeed(@one, 1, :c, :d)
        fail_at(@one, 3, unit: :c) # it went well for a while
        assert_equal [2, 2], about(@one, 1, history).units # c and d; b and e
      end

      test "a unit whose failure had an end before doesn't fail together with it" do
        fail_at(@one, 4, unit: :d)
        fail_at(@one, 2, unit: :b)
        succeed(@one, 1, :b)
        history = fail_at(@one, 1, unit: :a)
        assert_equal [0, 1], about(@one, 1, history).units
        @one.condemned(4)
        assert_equal [0, 0], about(@one, 1, history).units
      end

      test "what failed in an outage fails first again after it, and counts once" do
        other = fail_at(@one, 2, unit: :b)
        fail_at(@one, 1, unit: :a)
        @one.forget(1)
        succeed(@one, 5, :c)
        history = fail_at(@one, 1, unit: :a)
        assert_equal [0, 0], about(@one, 1, history).messages
        assert_equal [5, 1], about(@one, 2, other).messages
      end

      test "compares a process in which nothing succeeds with the others" do
        succeed(@one, 1)
        fail_at(@one, 2)
        succeed(@two, 20)
        history = fail_at(@one, 1) # others succeed: from here on it counts
        fail_at(@one, 2)
        succeed(@two, 20)
        fail_at(@two, 3)
        found = about(@one, 1, history, later: 3)

        assert_equal [2, 3.0, [20, 1], false],
                     [found.failing, found.stuck_for.round(3), found.elsewhere, found.alone]
      end

      test "a predecessor that has ended a moment ago is no other process" do
        succeed(@two, 1)
        history = fail_at(@one, 1)
        assert about(@one, 1, history, later: 6).alone
        succeed(@two, 1)
        refute about(@one, 1, history, later: 6).alone
      end

      test "a predecessor that has failed is another process until this one succeeds" do
        fail_at(@two, 2)
        history = fail_at(@one, 1)
        refute about(@one, 1, history, later: 3_700).alone
        succeed(@one, 1)
        history = fail_at(@one, 3)
        assert about(@one, 3, history, later: 6).alone
      end

      test "sees that nothing succeeds anywhere" do
        [@one, @two].each { |one| succeed(one, 1) }
        history = fail_at(@one, 1)
        assert_equal [0, [0, 0]], [about(@one, 1, history).failing_elsewhere,
                                   about(@one, 1, history).elsewhere]
        fail_at(@two, 2)
        assert_equal 1, about(@one, 1, history).failing_elsewhere
        succeed(@two, 1)
        assert_equal 0, about(@one, 1, history).failing_elsewhere
      end

      test "a message that two processes have tried is one, and says nothing of either" do
        fail_at(@one, 1)
        history = fail_at(@two, 1)
        found = about(@two, 1, history)
        assert_equal [0, 0, true], [found.failing, found.failing_elsewhere, found.fresh]
      end

      test "what fails first makes trouble, and each success takes a part of it away" do
        history = fail_at(@one, 1)
        2.times { fail_at(@one, 2) } # it has failed before
        succeed(@one, 5)
        assert_equal [7, 7 / 1.0], about(@one, 1, history).to_h.values_at(:trouble, :trouble_each)
        3.times { |number| fail_at(@two, 10 + number) }
        succeed(@two, 1)
        found = about(@one, 1, history)
        assert_equal [(7 + 35) / 2.0, [1, 3]], [found.trouble_each, found.meanwhile_elsewhere]
        succeed(@one, 100)
        assert_equal [0, 0.0], about(@one, 1, history).to_h.values_at(:trouble, :troubled_for)
      end

      test "trouble is forgotten once nothing has failed for a minute" do
        3.times { |number| fail_at(@one, number) }
        @now += 61
        history = fail_at(@one, 9)
        assert_equal 0, about(@one, 9, history, later: 61).trouble
      end

      test "trouble is forgotten although what failed is tried again and again" do
        3.times { |number| fail_at(@one, number) }
        history = fail_at(@one, 9)
        3.times do
          assert_equal 36, about(@one, 9, history).trouble
          @now += 20
          fail_at(@one, 9)
        end
        @now += 2
        fail_at(@one, 9)
        assert_equal 0, about(@one, 9, history, later: 62).trouble
      end

      test "a failure that is the message's own by its class says nothing about others" do
        history = fail_at(@one, 1)
        3.times { |number| fail_at(@one, 10 + number) }
        3.times { |number| @one.condemned(10 + number, own: true) }
        assert_equal [0, 1, [0, 0]],
                     about(@one, 1, history).to_h.values_at(:trouble, :failing, :messages)
        @one.condemned(1, own: true)
        later = fail_at(@one, 2)
        assert_equal [0, 0], about(@one, 2, later).messages
      end

      test "parts of a batch that failed before make no new trouble" do
        history = fail_at(@one, 1)
        @one.failed(2, :a, now, known: false, again: true)
        assert_equal 0, about(@one, 1, history).trouble
      end

      test "what a message has shown counts on after messages before it have succeeded" do
        history = fail_at(@one, 9, unit: :a)
        succeed(@one, 30, :a)
        fail_at(@one, 9, unit: :a)
        assert_equal [30, 0], about(@one, 9, history).messages
      end

      test "a process that has the cells of one that has ended adds to its counts" do
        succeed(@two, 1_000)
        history = fail_at(@one, 1)
        about(@one, 1, history)
        @layout.records(1).each { |cell| @page.clear(cell) }
        third = process(1)
        succeed(third, 20)
        assert_equal [20, 0], about(@one, 1, history).elsewhere
      end

      test "asks for another process, and again after a while" do
        history = fail_at(@one, 1)
        assert @one.ask_for_successor(now)
        refute @one.ask_for_successor(now)
        assert about(@one, 1, history).asked
        refute about(@one, 1, history, later: 6).asked
        assert @one.ask_for_successor(now + 6)
        refute about(@one, 1, history, later: 6).fresh
        assert about(@one, 1, history, later: 61).fresh # none comes
      end

      test "several messages of which one has failed count as none, and as one that fails" do
        2.times { @one.failed(1, :a, now, known: false) }
        history = fail_at(@one, 2)
        assert_equal [[0, 0], 2], [about(@one, 2, history).messages,
                                   about(@one, 2, history).failing]
      end

      test "without other processes a message has been tried wherever it can be" do
        alone = Failure::TopicEvidence.new(nil, KIND, replaceable: false)
        alone.failed(1, :a, now)
        assert about(alone, 1, Failure::FailureCount.new(since: now)).fresh
      end

      private

      # Each call is a moment later.
      def now = @now = (@now || OS.now) + 0.001

      def process(index)
        records = Swarm::IPC::Scoreboard::HandlerRecords.new(@page, @layout, index)
        Failure::TopicEvidence.new(records, KIND, replaceable: true, read_every: 0)
      end

      def succeed(evidence, count, *units) = evidence.succeeded(count, now) { units }

      def fail_at(evidence, id, unit: id)
        history = Failure::FailureCount.new
        history.add(id, at = now)
        evidence.failed(id, unit, at)
        history
      end

      def about(evidence, id, history, later: 0)
        time = evidence.instance_variable_get(:@failing_since).to_f + later
        evidence.about(id, history, time, began: now)
      end
    end
  end
end
