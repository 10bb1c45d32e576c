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
# | many others fail together with it (Evidence) | part_of_dependency |
# | it has failed often enough while (enough) others succeeded here (`own_failures`) | message |
# | only it fails here, much succeeds in other processes, and it failed in another, too | message |
# | the same, and it hasn't been tried in another process | another_process |
# | nothing succeeds anywhere, and several fail, in other processes, too | dependency |
# | several fail here, nothing succeeds, and no other process tries anything | another_process |
# | else | nil |
#
# another_process: only another process can show whether this one is ill.
module Skep
  module Kafka
    module Failure
      class FailureCause
        FAILURES = 5 # of a message, in a source without max_attempts
        # Of what is tried, at least so many succeed for each one that fails, where single messages
        # are bad.
        RATIO = 4
        UNITS = 3 # that fail together, before their share says anything
        MORE = 2 # failures of a message where few others succeed
        SEVERAL = 4 # messages that fail where nothing waits behind them
        LEAST = 8 # successes that prove something
        SILENT = 1.0 # seconds without a success until it may be an outage
        STUCK = 3.0 # until a process may be ill
        ALONE = 5.0 # the same without another process to compare it with
        private_constant :FAILURES, :RATIO, :UNITS, :MORE, :SEVERAL, :LEAST, :SILENT,
                         :STUCK, :ALONE

        def self.of(attempt, history, evidence, options)
          # (A poison message, and what is behind a mark, has no evidence.)
          new(attempt, history, evidence, options).cause if evidence.failing
        end

        # How many messages fail and nothing succeeds, here and elsewhere.
        def self.several?(evidence)
          total = evidence.failing + evidence.failing_elsewhere
          total >= (evidence.behind ? 2 : SEVERAL) && evidence.stuck_for >= SILENT
        end

        def initialize(attempt, history, evidence, options)
          @history, @evidence = history, evidence
          @attempts = options.max_attempts || FAILURES
          @alone = attempt.one_message?
        end

        def cause
          return :process if process_ill?
          return :part_of_dependency if many_fail_together?
          return :message if message_bad?
          return if @evidence.stuck_for.zero? && @evidence.failing.zero?

          @evidence.elsewhere.first.positive? ? by_other_processes : by_whole_swarm
        end

        private

        def process_ill?
          @evidence.failing > 1 && @evidence.stuck_for >= STUCK && much_succeeds_elsewhere?
        end

        def many_fail_together?
          good, bad = *@evidence.units
          return true if bad >= UNITS && bad * RATIO > good

          [@evidence.messages, @evidence.swarm].any? do |ok, failed|
            failed * RATIO > ok && (failed > 1 || @history.own_failures < @attempts - 1 + MORE)
          end
        end

        # What another process has counted proves nothing in an outage. Where few succeed, it must
        # have failed more often, because chance may have chosen it.
        def message_bad?
          return false if @history.restored? && FailureCause.several?(@evidence)

          few = @evidence.comparable && !@history.restored? && @evidence.swarm.first < LEAST
          @history.own_failures >= [@attempts - 1, 1].max + (few ? MORE : 0)
        end

        def much_succeeds_elsewhere?
          good, bad = *@evidence.elsewhere
          good >= [LEAST, RATIO * bad].max
        end

        # Only this message fails here, or all that do have failed in other processes, too.
        def by_other_processes
          return unless @evidence.failing_elsewhere.zero? && much_succeeds_elsewhere?
          return unless @evidence.stuck_for >= STUCK && @alone && @history.count >= @attempts

          @evidence.fresh ? :message : :another_process
        end

        def by_whole_swarm
          return unless FailureCause.several?(@evidence)
          return :dependency if @evidence.failing_elsewhere.positive? || @evidence.fresh

          :another_process if @evidence.alone && @evidence.stuck_for >= ALONE
        end
      end
    end
  end
end
