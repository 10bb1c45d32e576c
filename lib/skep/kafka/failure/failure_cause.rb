# frozen_string_literal: true

# Says what has caused a failure, by what other messages show (Evidence). Pure.
#
#   FailureCause.of(attempt, history, evidence, options)   # => :message; nil: it isn't known
#
# history: the FailureCount of the message. The first row that is so counts. Successes and failures
# are those of other messages with the same handler; "here" is this process.
#
# | what others show | cause |
# |---|---|
# | several fail here and nothing succeeds, while much succeeds in other processes | process |
# | of what was tried near its first failure, a large share has failed, too | dependency |
# | the same by key of what was tried since | dependency |
# | successes here after it had failed, and no other failure near its first one | message |
# | the same, other failures near it, and many successes for each of those | message |
# | only it fails here, much succeeds in other processes, and it failed in another, too | message |
# | the same, and it hasn't been tried in another process | another_process |
# | nothing succeeds anywhere, and no other process has tried anything | another_process |
# | nothing succeeds anywhere, and several messages fail | dependency |
# | else | nil |
#
# another_process: only another process can show whether this one is ill. A node can't compare
# itself with others where it is the only one, or the only one that has messages.
module Skep
  module Kafka
    module Failure
      class FailureCause
        FAILURES = 5 # of a message, in a source without max_attempts
        # Of what is tried, at least so many succeed for each one that fails, where single messages
        # are bad.
        RATIO = 4
        # The same by key: those that fail are tried again and again, while the others go on.
        MANY = 30
        BAD_ONES = 10 # of so many messages behind it, one may be bad, too
        SEVERAL = 4 # others that fail, before their share says anything
        LEAST = 8 # successes that prove something
        STUCK = 1.0 # seconds without a success until a process may be ill
        ALONE = 2.0 # seconds without a success until another process tries
        private_constant :FAILURES, :RATIO, :MANY, :BAD_ONES, :SEVERAL, :LEAST, :STUCK, :ALONE

        def self.of(attempt, history, evidence, options)
          # (A poison message, and what is behind a mark, has no evidence.)
          new(attempt, history, evidence, options).cause if evidence.failing
        end

        def initialize(attempt, history, evidence, options)
          @history, @evidence = history, evidence
          @attempts = options.max_attempts || FAILURES
          @alone = attempt.one_message?
          @by_key = options.by_key?
        end

        def cause
          return :process if process_ill?
          return :dependency if large_share?
          return :message if message_bad?
          return unless nothing_succeeds_here?

          @evidence.elsewhere.first.positive? ? by_other_processes : by_whole_swarm
        end

        private

        # The part of the dependency that these messages need is unavailable.
        def large_share?
          (failed >= SEVERAL && successes < RATIO * failed) ||
            (@by_key && @evidence.recent >= SEVERAL && @evidence.since < MANY * @evidence.recent)
        end

        # Near its first failure.
        def successes = @evidence.before.first + @evidence.after.first
        def failed = @evidence.before.last + @evidence.after.last

        def process_ill?
          @evidence.failing > 1 && @evidence.stuck_for >= STUCK && much_succeeds_elsewhere?
        end

        def message_bad?
          return false unless counted? && (@evidence.here || @history.restored?)

          @evidence.isolated || @history.restored? || few_others? ||
            (@history.between.positive? && much_succeeds_after?)
        end

        # After its first failure others succeed, and hardly any fails. (Before it, there may have
        # been no outage.)
        def much_succeeds_after?
          good, bad = *@evidence.after
          good >= [LEAST, BAD_ONES * bad].max
        end

        # Its failures after others had succeeded: all but the first one.
        def counted? = @history.own_failures >= [@attempts - 1, 1].max

        # There are few others to compare it with, so it must have failed more often.
        def few_others?
          @history.own_failures >= @attempts + 2 && much_succeeds_after?
        end

        def nothing_succeeds_here? = @evidence.failing.positive? && !@evidence.here

        def much_succeeds_elsewhere? = enough?(*@evidence.elsewhere)
        def enough?(successes, failed) = successes >= [LEAST, RATIO * failed].max

        # Only this message fails here, as far as is known.
        def by_other_processes
          return unless @evidence.stuck_elsewhere.zero? && @evidence.failing_elsewhere.zero? &&
                        @evidence.stuck_for >= STUCK && much_succeeds_elsewhere? && tried_alone?

          @evidence.fresh ? :message : :another_process
        end

        def by_whole_swarm
          several = @evidence.failing + @evidence.failing_elsewhere > 1
          if @evidence.failing_elsewhere.positive? || @evidence.fresh
            several ? :dependency : nil
          elsif @evidence.stuck_for >= ALONE && (several || tried_alone?)
            :another_process
          end
        end

        def tried_alone? = @alone && @history.count >= @attempts
      end
    end
  end
end
