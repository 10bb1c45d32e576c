# frozen_string_literal: true

# Decides what becomes of a batch whose try has failed. A pure function: it has no clock, draws no
# random number, and changes nothing. FailureHandler carries out what it says.
#
#   RetryPolicy.decide(attempt, history, evidence, options, OS.now, spread: 1.1)   # => a Decision
#
# attempt: a Processing::Attempt, what the handler has done. history: a FailureCount that has this
# failure. evidence: an Evidence, what other messages show. options: of the topic. spread: of the
# backoff, see RetryBackoff#spread.
#
# The first row that is so counts. "One message": it is known which one has failed, and no other is
# tried with it; of several, it isn't known which one would fail alone, so they are tried one by one
# first.
#
# | the attempt | action |
# |---|---|
# | raised at a message that the handler had marked | continue: no message behind it has failed |
# | is of a poison message (PoisonDetector) | as `on_poison` says: dead_letter, hold or skip |
# | found payloads that can't be read, and others | isolate: the others are processed apart |
# | was made by an ill process; or another process must show that (FailureCause) | replace_process |
# | raised what only the cluster or the process causes | retry |
# | raised what `on_error` names | retry; of one message dead_letter or hold, else one_by_one |
# | is of a source without `max_attempts` | retry |
# | raised NonRetryable | dead_letter of one message, else one_by_one |
# | was not yet the last of `max_attempts` | retry |
# | was of several messages | one_by_one |
# | failed by itself (FailureCause) | dead_letter |
# | is of a source without `retry_for` | dead_letter |
# | failed because a dependency is unavailable (FailureCause) | retry |
# | has not failed for `retry_for` seconds, or several fail: it may be an outage | retry |
# | has not been tried by another process | replace_process |
# | else | dead_letter |
#
# Whatever the row, a batch that has failed `max_attempts` (or FailureCause::FAILURES) times is
# tried one by one instead of `retry`, because each retry repeats the messages before the one that
# fails. Suppose an overloaded service refuses one call in twenty: a batch of 500 messages would
# fail each time. If it fails at its first message, or only the cluster is unreachable, a retry
# repeats nothing for that.
#
# A message that the source has read from its own dead letter topic isn't written there again: it is
# retried, or held if it is poison.
module Skep
  module Kafka
    module Failure
      module RetryPolicy
        # action: see above. seconds: the backoff; with awaits_success a success of the partition
        # ends it early. why: :class, the error's class says so; :retry_for, that time is over;
        # :dead_letter_topic, the message comes from there; of a retry, the cause, or :unproven,
        # after max_attempts. cause: what FailureCause says, whatever is done.
        Decision = Struct.new(:action, :seconds, :why, :cause, :awaits_success,
                              keyword_init: true) do
          # Returns true if the message isn't tried again.
          def final?
            %i[dead_letter hold skip].include?(action) || (action == :continue && seconds.nil?)
          end
        end

        class << self
          def decide(attempt, history, evidence, options, now, spread:)
            backoff = Backoff.new(history, evidence, options, now, spread)
            return behind_mark(attempt, backoff) if attempt.raised_at_marked?

            cause = FailureCause.of(attempt, history, evidence, options)
            action, why = action(attempt, history, evidence, options, now, cause)
            if action == :dead_letter && attempt.topic == options.dead_letter_topic
              action = attempt.crashes ? :hold : :retry
              why = :dead_letter_topic
            end
            action = :one_by_one if action == :retry && split?(attempt, history, options)
            retried = %i[retry replace_process].include?(action)
            dependency = FailureCause::DEPENDENCY.include?(cause)
            wait = backoff.of_retry(dependency:) if retried
            Decision.new(action:, why:, cause:, **wait.to_h)
          end

          # Tries again what couldn't be dead-lettered or skipped.
          def try_again(history, evidence, options, now, spread:)
            backoff = Backoff.new(history, evidence, options, now, spread)
            Decision.new(action: :retry, **backoff.of_retry)
          end

          private

          def action(attempt, history, evidence, options, now, cause)
            return poison(options) if attempt.crashes
            return :isolate if attempt.unreadable_of_several?

            if %i[process another_process].include?(cause)
              return evidence.asked ? :retry : :replace_process, cause
            end
            return :retry if passing?(attempt.error)

            dead_letter = attempt.one_message? ? :dead_letter : :one_by_one
            case by_class(attempt.error, options)
            when :retry then return :retry
            when :dead_letter then return dead_letter, :class
            when :pause then return attempt.one_message? ? :hold : :one_by_one
            end
            return :retry, cause unless options.max_attempts
            return dead_letter, :class if attempt.error.is_a?(NonRetryable)
            return :retry, cause if tries(attempt, history) < options.max_attempts
            return :one_by_one if attempt.several?

            after_last_attempt(cause, history, evidence, options, now)
          end

          # What becomes of a message that has failed max_attempts times, the last time alone.
          def after_last_attempt(cause, history, evidence, options, now)
            return :dead_letter if cause == :message

            over = now - history.since >= options.patience
            return :dead_letter, :retry_for if over && options.patience.zero?

            why = cause || :unproven
            return :retry, why if !over || cause || FailureCause.unclear?(evidence, options)

            evidence.fresh ? [:dead_letter, :retry_for] : [:replace_process, :another_process]
          end

          # A message behind a marked one may have failed only if it isn't known which one has.
          def behind_mark(attempt, backoff)
            unknown = attempt.offset.nil? && attempt.unmarked?
            Decision.new(action: :continue, seconds: (backoff.first if unknown))
          end

          def poison(options)
            { dead_letter: :dead_letter, pause: :hold, skip: :skip }.fetch(options.on_poison)
          end

          def passing?(error)
            DatabasePool.exhausted?(error) || output_failed?(error)
          end

          def output_failed?(error) = error.is_a?(OutputFailed) && error.passing?

          # Returns true if a batch has failed often, and its messages may do better alone.
          def split?(attempt, history, options)
            attempt.several? && !attempt.halved && !attempt.failed_first? &&
              !output_failed?(attempt.error) && history.count >= (options.max_attempts || FailureCause::FAILURES)
          end

          # Returns what `on_error` says of the error's class, or of the nearest of its ancestors.
          def by_class(error, options)
            policy = options.on_error
            policy[error.singleton_class.ancestors.find { |ancestor| policy.key?(ancestor) }]
          end

          # The last try of a message that is known is alone. Of a batch that is halved none has
          # been tried as it will be.
          def tries(attempt, history)
            return 0 if attempt.halved

            attempt.several? && attempt.offset ? history.number + 1 : history.count
          end
        end

        # How long a retry waits.
        Backoff = Struct.new(:history, :evidence, :options, :now, :spread) do
          # After an outage, the first failure that can't be the outage's any more counts as the
          # second one. While nothing of the partition succeeds, one of its work items at a time
          # tries whether that has changed. However long the maximum of the backoff, each is tried
          # every 30 s.
          def of_retry(dependency: false)
            own, number = history.own_failures, history.number
            lasted = now - history.outage_since
            if own.positive?
              limit = { limit: RetryBackoff::OUTAGE_LIMIT } if dependency
              number = [number, own + 1].min unless dependency
              return { seconds: seconds(number, **limit.to_h) }
            end

            if lasted < RetryBackoff::OUTAGE_LIMIT
              return { seconds: seconds(number, limit: RetryBackoff::OUTAGE_LIMIT) }
            end

            limit = evidence.others_wait ? RetryBackoff::LIMIT : RetryBackoff::OUTAGE_LIMIT
            { seconds: seconds(number, limit:, least: lasted), awaits_success: true }
          end

          def first = seconds(1)

          private

          def seconds(failures, **limits)
            RetryBackoff.new(options.retry_backoff, max: options.retry_backoff_max)
                        .seconds(failures, **limits, spread:)
          end
        end
        private_constant :Backoff
      end
    end
  end
end
