# frozen_string_literal: true

require "test_helper"
require "skep/kafka"
require "kafka/failure/failure_cause_test"

module Skep
  module Kafka
    # Each row of the table in retry_policy.rb.
    class RetryPolicyTest < ::Skep::TestCase
      Final = Class.new(StandardError) { include NonRetryable }
      Named = Class.new(StandardError)
      NOW = 1_000.0
      private_constant :Final, :Named, :NOW

      test "continues behind a marked message, at once if it is known where the handler raised" do
        assert_equal [:continue, nil], decide(offset: 1, marked: 1)
        assert_equal [:continue, nil], decide(offset: nil, marked: 2)
        assert_equal [:continue, 0.1], decide(offset: nil, marked: 1)
        assert_equal [:retry, 0.1], decide(offset: 2, marked: 1)
      end

      test "does with a poison message what on_poison says" do
        { dead_letter: :dead_letter, pause: :hold, skip: :skip }.each do |on_poison, action|
          assert_equal [action, nil], decide(crashes: 3, on_poison:)
        end
        assert_equal [:hold, nil], decide(crashes: 3, topic: "dead")
        assert_equal [:skip, nil], decide(crashes: 3, topic: "dead", on_poison: :skip)
      end

      test "isolates payloads that can't be read, unless the batch has only one message" do
        assert_equal [:isolate, nil], decide(unreadable: [0])
        assert_equal [:retry, 0.1], decide(unreadable: [0], last_offset: 0)
        assert_equal [:dead_letter, nil],
                     decide(unreadable: [0], last_offset: 0, error: Final.new, size: 1)
      end

      test "retries what only the cluster or the process causes, however often it fails" do
        pool = Class.new(StandardError) { def self.name = "ActiveRecord::ConnectionTimeoutError" }
        passing = DeliveryFailed.new(topic: "out", cause: "no answer")
        [passing, pool.new].each do |error|
          assert_equal :retry, decide(error:, size: 1, count: 99, own: 99, since: 0).first
          assert_equal :retry, decide(error:, size: 1, on_error: { StandardError => :pause }).first
        end
      end

      test "does what on_error says, with one message at a time" do
        { retry: %i[retry retry], dead_letter: %i[dead_letter one_by_one],
          pause: %i[hold one_by_one] }.each do |policy, (one, several)|
          on_error = { Named => policy }
          assert_equal one, decide(error: Named.new, size: 1, on_error:).first
          assert_equal several, decide(error: Named.new, size: 2, on_error:).first
          assert_equal several, decide(error: Named.new, size: 1, halved: true, on_error:).first
        end
      end

      test "retries without max_attempts" do
        assert_equal :retry, decide(error: Final.new, size: 1, max_attempts: nil).first
        assert_equal :retry, decide(size: 1, count: 99, own: 99, since: 0, max_attempts: nil).first
      end

      test "dead-letters a message that isn't to be retried, and finds it among several" do
        [{ error: Final.new },
         { error: Named.new, on_error: { Named => :dead_letter } }].each do |own|
          found = decision(**own, size: 1)
          assert_equal %i[dead_letter class], [found.action, found.why]
        end
        assert_equal :one_by_one, decide(error: Final.new).first
        assert_equal :one_by_one, decide(error: Final.new, size: 1, halved: true).first
      end

      test "tries several messages one by one after max_attempts, the last try of a known alone" do
        assert_equal :retry, decide(offset: nil, count: 2).first
        assert_equal :one_by_one, decide(offset: nil, count: 3).first
        assert_equal :retry, decide(offset: 1, count: 1).first
        assert_equal :one_by_one, decide(offset: 1, count: 2).first
        assert_equal :retry, decide(offset: nil, count: 9, halved: true).first
      end

      test "tries several messages one by one instead of repeating the first ones for ever" do
        { nil => 5, 3 => 3, 1 => 1 }.each do |max_attempts, most|
          options = { max_attempts:, on_error: { StandardError => :retry } }
          [[1, 2], [2], [nil]].each do |places|
            failures = places.cycle.first(most)
            assert_equal :one_by_one, decide_after(failures, **options)
            assert_equal :retry, decide_after(failures.drop(1), **options) if most > 1
            assert_equal :retry, decide_after(failures, **options, size: 1)
            assert_equal :retry, decide_after(failures, **options, halved: true)
          end
          assert_equal :retry, decide_after([0] * 9, **options)
        end
      end

      test "repeats a batch as a whole while the cluster is unreachable" do
        error = DeliveryFailed.new(topic: "out", cause: "no answer")
        assert_equal :retry, decide_after([nil] * 9, error:)
      end

      test "dead-letters a message after max_attempts if others succeed, or after retry_for" do
        assert_equal :retry, decide(size: 1, count: 2, own: 2).first
        assert_equal :retry, decide(size: 1, count: 3, own: 1).first
        assert_equal :dead_letter, decide(size: 1, count: 3, own: 2).first
        assert_equal :dead_letter, decide(size: 1, count: 1, own: 1, max_attempts: 1).first
        assert_equal :retry, decide(size: 1, count: 1, own: 0, max_attempts: 1).first
        assert_equal :retry, decide(size: 1, count: 9, since: NOW - 299).first
        assert_equal :unproven, decision(size: 1, count: 9, since: NOW - 299).why
        assert_equal :dead_letter, decide(size: 1, count: 9, since: NOW - 300).first
        assert_equal :retry_for, decision(size: 1, count: 9, since: NOW - 300).why
        assert_equal :dead_letter, decide(size: 1, count: 3, retry_for: nil).first
      end

      test "waits for another process before it dead-letters what nothing shows to be bad" do
        old = { size: 1, count: 9, since: NOW - 300 }
        assert_equal :replace_process, decide(**old, evidence: { fresh: false }).first
        assert_equal :dead_letter, decide(**old, evidence: { fresh: true }).first
        begun = { fresh: true, stuck_for: 0.9 } # others that fail may not have been tried yet
        assert_equal :retry, decide(**old, evidence: begun).first
        assert_equal :dead_letter, decide(**old, evidence: { **begun, messages: [9, 0] }).first
        near = { fresh: true, messages: [7, 2] }
        assert_equal :retry, decide(**old, evidence: near).first
      end

      test "dead-letters nothing while a dependency is unavailable, unless retry_for is nil" do
        away = { failing: 2, stuck_for: 1.0, behind: true, fresh: true }
        old = { size: 1, count: 99, since: NOW - 9_999, evidence: away }
        assert_equal :retry, decide(**old).first
        assert_equal :dependency, decision(**old).why
        assert_equal :dead_letter, decide(**old, retry_for: nil).first
        assert_equal :dead_letter, decide(**old, error: Final.new).first
      end

      test "tries what fails with a part of a dependency less and less often, up to a limit" do
        part = { behind: true, trouble: 36 }
        waits = [1, 2, 3, 9].map { |count| decide(size: 1, count:, own: 0, evidence: part).last }
        assert_equal waits.sort, waits
        own = [3, 9].map { |count| decide(size: 1, count:, own: 1, evidence: part).last }
        assert_equal [0.4, 1.5], own.map { |wait| wait.round(2) }
      end

      test "asks for another process once, whatever the source says of the error" do
        ill = { failing: 2, stuck_for: 3.0, elsewhere: [100, 0], trouble: 12 }
        [{}, { max_attempts: nil }, { on_error: { StandardError => :pause } }].each do |options|
          found = decision(size: 1, **options, evidence: ill)
          assert_equal [:replace_process, :process, 0.1],
                       [found.action, found.why, found.seconds]
        end
        found = decision(size: 1, count: 99, evidence: { **ill, asked: true })
        assert_equal %i[retry process], [found.action, found.why]
      end

      test "retries a message of the dead letter topic instead of writing it there again" do
        found = decision(size: 1, count: 3, own: 2, topic: "dead")
        assert_equal %i[retry dead_letter_topic], [found.action, found.why]
      end

      test "the backoff grows with the failures of the message, less while nothing succeeds" do
        assert_in_delta 0.4, decide(count: 3, max_attempts: 9, own: 5).last
        assert_in_delta 0.2, decide(count: 3, max_attempts: 9, own: 1).last
        assert_in_delta 1.5, decide(count: 8, max_attempts: 99).last
        assert_in_delta 0.12, decide(spread: 1.2).last
      end

      test "in an outage one work item of the partition is tried soon, and the others wait" do
        outage = { max_attempts: 9, count: 2, since: NOW - 20 }
        first = decision(**outage)
        assert_equal [1.5, true], [first.seconds, first.awaits_success]
        other = decision(**outage, others_wait: true)
        assert_equal [20, true], [other.seconds, other.awaits_success]
        refute decision(**outage, own: 1).awaits_success
        assert_equal [1.5, true], try_again(**outage).to_h.values_at(:seconds, :awaits_success)
      end

      private

      def decide(...) = decision(...).to_a.first(2)

      # places: the offsets at which the batch has failed, one after the other.
      def decide_after(places, **others)
        history = Failure::FailureCount.new
        places.each { |offset| history.add(offset, NOW) }
        decide(offset: places.last, history:, **others).first
      end

      # size: of the messages that are tried together again. count: failures in a row.
      def decision(error: RuntimeError.new, offset: 0, last_offset: 2, topic: "t", spread: 1.0,
                   marked: nil, size: 2, halved: false, unreadable: [], crashes: nil, **others)
        messages = (0..last_offset).map { |n| Message.new(topic, 0, n, nil, nil, 0, {}) }
        attempt = Processing::Attempt.new(Processing::Slice.new(topic, 0, messages))
        attempt.failed(error, offset, marked:, size:, halved:, unreadable:, crashes:)
        Failure::RetryPolicy.decide(attempt, *context(**others), spread:)
      end

      def try_again(**others) = Failure::RetryPolicy.try_again(*context(**others), spread: 1)

      # evidence: what differs from that of a message of which nothing else is known.
      def context(count: 1, own: 0, since: NOW, others_wait: false, history: nil, evidence: {},
                  **options)
        history ||= Failure::FailureCount.new(since:, outage_since: since, count:,
                                              own_failures: own)
        facts = { **FailureCauseTest::NOTHING, fresh: true, stuck_for: 1.0, **evidence }
        [history, Failure::Evidence.new(others_wait:, **facts), source(**options), NOW]
      end

      def source(max_attempts: 3, **options)
        dead = { max_attempts:, dead_letter_topic: "dead" } if max_attempts
        Source.new(kafka: { "bootstrap.servers": "none" }, group: "g", topics: "t",
                   **dead.to_h, **options).__options
      end
    end
  end
end
