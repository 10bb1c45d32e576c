# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # Each row of the table in failure_cause.rb.
    class FailureCauseTest < ::Skep::TestCase
      # One message fails in one process, and nothing else happens.
      NOTHING = { units: [0, 0], messages: [0, 0], swarm: [0, 0], failing: 1, stuck_for: 0.0,
                  elsewhere: [0, 0], failing_elsewhere: 0, well_elsewhere: 9.0,
                  alone: true, fresh: false, asked: false,
                  comparable: false, behind: false, trouble: 0, trouble_each: 0.0,
                  troubled_for: 0.0, meanwhile: [0, 0], meanwhile_elsewhere: [0, 0] }.freeze

      test "several messages fail here and much succeeds elsewhere: the process" do
        ill = { failing: 2, stuck_for: 3.0, elsewhere: [8, 0], trouble: 6 }
        assert_equal :process, cause(**ill)
        assert_equal :process, cause(**ill, elsewhere: [40, 10])
        refute_equal :process, cause(**ill, elsewhere: [39, 10])
        refute_equal :process, cause(**ill, elsewhere: [7, 0])
        refute_equal :process, cause(**ill, stuck_for: 2.9)
        refute_equal :process, cause(**ill, failing: 1)
        failed_elsewhere = { restored: true, count: 3, fresh: true, behind: true }
        assert_equal :message, cause(**ill, **failed_elsewhere, stuck_for: 5.0)
        assert_equal :process, cause(**ill, **failed_elsewhere, count: 2)
        refute_equal :process, cause(**ill, trouble: 5) # others succeeded in between
        refute_equal :process, cause(**ill, well_elsewhere: 2.9) # nothing succeeded there, either
      end

      test "a part of the tries fails here, and hardly any elsewhere: the process" do
        ill = { trouble: 36, troubled_for: 3.0, meanwhile: [15, 4], meanwhile_elsewhere: [26, 1] }
        assert_equal :process, cause(**ill)
        refute_equal :process, cause(**ill, trouble: 35)
        refute_equal :process, cause(**ill, troubled_for: 2.9)
        refute_equal :process, cause(**ill, meanwhile_elsewhere: [25, 1])
        refute_equal :process, cause(**ill, meanwhile: [24, 4]) # not four times as large a part
        refute_equal :process, cause(**ill, well_elsewhere: 2.9)
      end

      test "more fails first than successes make up for: a part of the dependency" do
        bad = { own: 30, comparable: true, behind: true }
        assert_equal :part_of_dependency, cause(**bad, trouble: 36)
        assert_equal :message, cause(**bad, trouble: 12)
        assert_equal :part_of_dependency, cause(**bad, trouble_each: 12.0)
        assert_equal :message, cause(**bad, trouble_each: 11.9)
        assert_equal :message, cause(**bad, trouble_each: 12.0, behind: false) # a few of few
      end

      test "others fail together with it: a part of the dependency" do
        bad = { own: 9 }
        assert_equal :part_of_dependency, cause(**bad, units: [11, 3])
        assert_equal :message, cause(**bad, units: [12, 3])
        assert_equal :message, cause(**bad, units: [0, 2])
        %i[messages swarm].each do |where|
          assert_equal :part_of_dependency, cause(**bad, where => [7, 2])
          assert_equal :message, cause(**bad, where => [8, 2])
          assert_equal :message, cause(**bad, where => [0, 1])
          assert_nil cause(own: 3, where => [3, 1])
          assert_equal :message, cause(own: 4, where => [3, 1])
        end
      end

      test "it has failed often enough while others succeeded here: the message" do
        assert_equal :message, cause(own: 2)
        assert_nil cause(own: 1)
        assert_equal :message, cause(own: 1, max_attempts: 1)
        assert_equal :message, cause(own: 4, max_attempts: nil)
      end

      test "where few succeed, or others fail first, too, it must have failed more often" do
        few = { comparable: true, messages: [7, 0] }
        assert_nil cause(own: 6, **few)
        assert_equal :message, cause(own: 7, **few)
        assert_equal :message, cause(own: 2, comparable: true, messages: [12, 0])
        assert_nil cause(own: 2, comparable: true, messages: [23, 1], trouble: 12)
        assert_equal :message, cause(own: 2, comparable: true, messages: [24, 1], trouble: 12)
        assert_nil cause(own: 2, restored: true, **few)
        assert_equal :message, cause(own: 2, restored: true, comparable: true, swarm: [8, 0])
      end

      test "what another process has counted says nothing in an outage" do
        assert_equal :message, cause(own: 2, restored: true, swarm: [8, 0])
        silent = { stuck_for: 1.0, behind: true, failing: 2, fresh: true }
        assert_nil cause(own: 2, restored: true)
        assert_equal :message, cause(own: 2, restored: true, stuck_for: 1.0)
        assert_nil cause(own: 2, restored: true, stuck_for: 1.0, failing: 2)
        assert_equal :dependency, cause(own: 2, restored: true, swarm: [8, 0], **silent)
      end

      test "only it fails here, and others succeed elsewhere: another process must try it" do
        one = { count: 3, elsewhere: [8, 0], stuck_for: 3.0 }
        assert_equal :another_process, cause(**one)
        assert_equal :message, cause(**one, fresh: true, stuck_for: 5.0)
        assert_nil cause(**one, fresh: true, stuck_for: 4.9)
        assert_nil cause(**one, count: 2)
        assert_nil cause(**one, failing_elsewhere: 1)
        assert_nil cause(**one, stuck_for: 2.9)
        assert_nil cause(**one, size: 2)
      end

      test "nothing succeeds anywhere, and others fail, too: the dependency" do
        silent = { stuck_for: 1.0, behind: true, alone: false }
        assert_equal :dependency, cause(**silent, failing_elsewhere: 1)
        assert_equal :dependency, cause(**silent, failing: 2, fresh: true)
        assert_nil cause(**silent, failing: 2)
        assert_nil cause(**silent, failing_elsewhere: 1, stuck_for: 0.9)
        assert_nil cause(**silent, fresh: true) # a topic of one message
      end

      test "few messages that fail, with nothing behind them, are no outage" do
        few = { stuck_for: 9.0, fresh: true }
        assert_nil cause(**few, failing: 3)
        assert_equal :dependency, cause(**few, failing: 4)
      end

      test "several fail here, and nobody else tries anything: another process must show why" do
        assert_equal :another_process, cause(failing: 4, stuck_for: 5.0)
        assert_nil cause(failing: 4, stuck_for: 4.9)
        assert_nil cause(failing: 4, stuck_for: 5.0, alone: false)
      end

      private

      def cause(count: 1, own: 0, restored: false, size: 1, max_attempts: 3, **evidence)
        history = Failure::FailureCount.new(since: 5.0, count:, own_failures: own, restored:)
        messages = [Message.new("t", 0, 0, nil, nil, 0, {})] * size
        attempt = Processing::Attempt.new(Processing::Slice.new("t", 0, messages))
        attempt.failed(RuntimeError.new, 0, size:)
        dead = { max_attempts:, dead_letter_topic: "dead" } if max_attempts
        options = Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t",
                             **dead.to_h).__options
        Failure::FailureCause.of(attempt, history,
                                 Failure::Evidence.new(**NOTHING, **evidence), options)
      end
    end
  end
end
