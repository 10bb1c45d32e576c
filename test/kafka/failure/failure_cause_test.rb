# frozen_string_literal: true

require "test_helper"
require "skep/kafka"

module Skep
  module Kafka
    # Each row of the table in failure_cause.rb.
    class FailureCauseTest < ::Skep::TestCase
      # One message fails in one process, and nothing else happens.
      NOTHING = { isolated: false, before: [0, 0], after: [0, 0], recent: 1, since: 0,
                  here: false, failing: 1,
                  stuck_for: 0.0, elsewhere: [0, 0], failing_elsewhere: 0, stuck_elsewhere: 0,
                  fresh: false, asked: false }.freeze

      test "a large share of what is tried fails: the dependency, partly" do
        here = { here: true, isolated: true, own: 9, before: [20, 2] }
        assert_equal :dependency, cause(**here, after: [3, 4])
        assert_equal :message, cause(**here, after: [4, 4])
        assert_equal :message, cause(**here, before: [0, 0], after: [5, 3])
        by_key = { here: true, isolated: true, own: 9, ordered_by: :key }
        assert_equal :dependency, cause(**by_key, recent: 4, since: 119)
        assert_equal :message, cause(**by_key, recent: 4, since: 120)
        assert_equal :message, cause(**by_key, recent: 3, since: 0)
        assert_equal :message, cause(**by_key, recent: 4, ordered_by: :partition)
      end

      test "several messages fail here and much succeeds elsewhere: the process" do
        ill = { failing: 2, stuck_for: 1.0, elsewhere: [8, 0] }
        assert_equal :process, cause(**ill)
        assert_equal :process, cause(**ill, elsewhere: [40, 10], stuck_elsewhere: 1)
        refute_equal :process, cause(**ill, elsewhere: [39, 10])
        refute_equal :process, cause(**ill, elsewhere: [7, 0])
        refute_equal :process, cause(**ill, stuck_for: 0.9)
        refute_equal :process, cause(**ill, failing: 1)
      end

      test "others succeed here, and none fails near it: the message" do
        alone = { here: true, failing: 0, isolated: true }
        assert_equal :message, cause(**alone, own: 2)
        assert_nil cause(**alone, own: 1)
        assert_nil cause(**alone, isolated: false, own: 2)
        assert_equal :message, cause(**alone, max_attempts: 1, own: 1)
      end

      test "others fail near it, but many more succeed between its failures: the message" do
        near = { here: true, failing: 0, own: 2, between: 1, after: [20, 2] }
        assert_equal :message, cause(**near)
        assert_nil cause(**near, between: 0)
        assert_nil cause(**near, before: [12, 3], after: [0, 0])
        assert_nil cause(**near, after: [19, 2])
        assert_nil cause(**near, after: [7, 0])
        assert_equal :message, cause(**near, own: 5, between: 0)
        assert_nil cause(**near, own: 4, between: 0)
      end

      test "only it fails here, and others succeed elsewhere: another process must try it" do
        one = { count: 3, elsewhere: [8, 0], stuck_for: 1.0 }
        assert_equal :another_process, cause(**one)
        assert_equal :message, cause(**one, fresh: true)
        assert_nil cause(**one, count: 2)
        assert_nil cause(**one, stuck_elsewhere: 1)
        refute_equal :another_process, cause(**one, failing_elsewhere: 1)
        assert_nil cause(**one, stuck_for: 0.9)
        assert_nil cause(**one, size: 2)
      end

      test "what another process has counted says that it is the message" do
        assert_equal :message, cause(own: 2, restored: true)
      end

      test "nothing succeeds anywhere, and others fail, too: the dependency" do
        assert_equal :dependency, cause(failing_elsewhere: 1)
        assert_equal :dependency, cause(failing: 2, fresh: true)
        assert_nil cause(fresh: true) # a topic of one message
      end

      test "nothing else was tried anywhere: another process must show whether this one is ill" do
        assert_equal :another_process, cause(failing: 2, stuck_for: 2.0)
        assert_nil cause(failing: 2, stuck_for: 1.9)
        assert_nil cause(count: 2, stuck_for: 2.0)
        assert_equal :another_process, cause(count: 3, stuck_for: 2.0)
        assert_equal :another_process, cause(count: 5, stuck_for: 2.0, max_attempts: nil)
      end

      private

      def cause(count: 1, own: 0, between: 0, restored: false, size: 1, max_attempts: 3,
                ordered_by: :partition, **evidence)
        history = Failure::FailureCount.new(since: 5.0, count:, own_failures: own, between:,
                                            restored:)
        messages = [Message.new("t", 0, 0, nil, nil, 0, {})] * size
        attempt = Processing::Attempt.new(Processing::Slice.new("t", 0, messages))
        attempt.failed(RuntimeError.new, 0, size:)
        dead = { max_attempts:, dead_letter_topic: "dead" } if max_attempts
        options = Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t",
                             ordered_by:, **dead.to_h).__options
        Failure::FailureCause.of(attempt, history,
                                 Failure::Evidence.new(**NOTHING, **evidence), options)
      end
    end
  end
end
