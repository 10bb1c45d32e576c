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

      test "a message that fails between many that succeed is isolated, in an outage none is" do
        succeed(@one, 5)
        history = fail_at(@one, 1)
        refute about(@one, 1, history).isolated
        succeed(@one, 9)
        refute about(@one, 1, history).isolated
        succeed(@one, 1)
        assert about(@one, 1, history).isolated

        histories = [2, 3].map { |id| fail_at(@one, id) }
        succeed(@one, 100)
        refute(histories.zip([2, 3]).any? { |one, id| about(@one, id, one).isolated })
        assert about(@one, 1, history).isolated
      end

      test "counts what succeeds and fails near the first failure of a message" do
        fail_at(@one, 7)
        succeed(@one, 21)
        fail_at(@one, 8)
        succeed(@one, 15)
        history = fail_at(@one, 1)
        fail_at(@one, 8) # it has failed before
        fail_at(@one, 9)
        succeed(@one, 3)
        found = about(@one, 1, history)

        assert_equal [[20, 1], [3, 1], true], [found.before, found.after, found.here]
      end

      test "compares a process in which nothing succeeds with the others" do
        succeed(@one, 1)
        history = fail_at(@one, 1)
        fail_at(@one, 2)
        succeed(@two, 20)
        fail_at(@two, 3)
        found = about(@one, 1, history, later: 3)

        assert_equal [2, 3.0, [20, 1], 1],
                     [found.failing, found.stuck_for.round(3), found.elsewhere,
                      found.stuck_elsewhere]
        refute @one.nothing_succeeds?
      end

      test "sees that nothing succeeds anywhere" do
        [@one, @two].each { |one| succeed(one, 1) }
        history = fail_at(@one, 1)
        refute @one.nothing_succeeds?
        fail_at(@two, 2)
        assert @one.nothing_succeeds?
        assert_equal 1, about(@one, 1, history).failing_elsewhere
        succeed(@two, 1)
        refute @one.nothing_succeeds?
      end

      test "a message that two processes have tried is one, and it is no outage" do
        fail_at(@one, 1)
        history = fail_at(@two, 1)
        found = about(@two, 1, history)

        assert_equal [1, 0, true], [found.failing, found.failing_elsewhere, found.fresh]
      end

      test "a process that another one has made way for asks for none" do
        history = fail_at(@one, 1)
        refute about(@one, 1, history).fresh
        assert @one.ask_for_successor(now)
        refute @one.ask_for_successor(now)
        assert about(@one, 1, history).asked
        other = fail_at(@two, 2)
        assert about(@two, 2, other).fresh
        succeed(@two, 1)
        refute about(@two, 2, other).fresh
      end

      test "several messages of which one has failed count as none, and as one that fails" do
        2.times { @one.failed(1, now, known: false) }
        history = fail_at(@one, 2)
        assert_equal [[0, 0], 2], [about(@one, 2, history).before, about(@one, 2, history).failing]
        @one.failed(1, now)
        found = about(@one, 2, history)
        assert_equal [[0, 1], 2], [found.after, found.failing]
      end

      test "without other processes a message has been tried wherever it can be" do
        alone = Failure::TopicEvidence.new(nil, KIND, replaceable: false)
        alone.failed(1, now)
        assert about(alone, 1, Failure::FailureCount.new(since: now)).fresh
      end

      private

      # Each call is a moment later.
      def now = @now = (@now || OS.now) + 0.001

      def process(index)
        records = Swarm::IPC::Scoreboard::HandlerRecords.new(@page, @layout, index)
        Failure::TopicEvidence.new(records, KIND, replaceable: true, read_every: 0)
      end

      def succeed(evidence, count) = evidence.succeeded(count, now)

      def fail_at(evidence, id)
        history = Failure::FailureCount.new
        history.add(id, at = now)
        evidence.failed(id, at)
        history
      end

      def about(evidence, id, history, later: 0)
        evidence.about(id, history, evidence.instance_variable_get(:@failing_since).to_f + later)
      end
    end
  end
end
