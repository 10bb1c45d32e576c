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
# | several fail here and nothing succeeds, or a part of them; hardly any in others | process |
# | many others fail together (Evidence), and the row before "else" is not so | part_of_dependency |
# | it has failed often enough while enough others succeeded here (FailureCount#against) | message |
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
        OTHER = %i[process part_of_dependency].freeze # causes: such a failure isn't the message's
        DEPENDENCY = %i[dependency part_of_dependency].freeze
        FAILURES = 5 # of a batch or a message, in a source without max_attempts
        # Of what is tried, at least so many succeed for each one that fails, where single messages
        # are bad.
        RATIO = 4
        UNITS = 3 # that fail together, before their share says anything
        TROUBLE = 3 * TopicEvidence::FAILURE
        TOGETHER = TopicEvidence::FAILURE / 2 # trouble of one other, with few successes in between
        MORE = 2 # failures of a message, if another one fails, and hardly any succeed
        # Failures of a message, and successes of others: if chance alone decided, this would happen
        # once in 2 ** ENOUGH times.
        ENOUGH = 14
        SEVERAL = 4 # messages that fail where nothing waits behind them
        LEAST = 8 # successes that prove something
        SILENT = 1.0 # seconds without a success until it may be an outage
        STUCK = 3.0 # until a process may be ill
        ALONE = 5.0 # the same without another process, or other messages, to compare with
        private_constant :RATIO, :UNITS, :TROUBLE, :TOGETHER, :MORE, :ENOUGH,
                         :SEVERAL, :LEAST, :SILENT, :STUCK, :ALONE

        def self.of(attempt, history, evidence, options)
          # (What is behind a mark has no evidence.)
          new(attempt, history, evidence, options).cause if evidence.failing
        end

        # How many messages fail and nothing succeeds, here and elsewhere.
        def self.several?(evidence)
          total = evidence.failing + evidence.failing_elsewhere
          total >= (evidence.behind ? 2 : SEVERAL) && evidence.stuck_for >= SILENT
        end

        # Returns true if other messages fail, too, or have hardly been tried in this process.
        def self.unclear?(evidence, options)
          return true if several?(evidence)

          evidence.messages.first.zero? && evidence.stuck_for < [SILENT, options.patience].min
        end

        def initialize(attempt, history, evidence, options)
          @history, @evidence = history, evidence
          @attempts = options.max_attempts || FAILURES
          @alone = attempt.one_message?
        end

        def cause
          return :process if process_ill?
          return alone_with_it || :part_of_dependency if many_fail_together?
          return :message if message_bad?
          return if @evidence.stuck_for.zero? && @evidence.failing.zero?

          @evidence.elsewhere.first.positive? ? by_other_processes : by_whole_swarm
        end

        private

        # (A message that has failed often enough in another process as well doesn't accuse this
        # one: it would be replaced for ever.)
        def process_ill?
          return false if @history.restored? && @history.count >= @attempts

          @evidence.well_elsewhere >= STUCK && (nothing_succeeds? || partly_ill?)
        end

        # (Several messages may be bad, if others succeeded between the first failures of them.)
        def nothing_succeeds?
          @evidence.failing > 1 && @evidence.stuck_for >= STUCK && @evidence.trouble >= TOGETHER &&
            much_succeeds_elsewhere?
        end

        # A part of what it tries fails, a much larger one than in others.
        def partly_ill?
          return false unless @evidence.trouble >= TROUBLE && @evidence.troubled_for >= STUCK
          return false if @evidence.fresh # it failed there, too

          ok, failed = *@evidence.meanwhile
          good, bad = *@evidence.meanwhile_elsewhere
          good >= ENOUGH + (bad * TopicEvidence::FAILURE) &&
            failed * (good + bad) > RATIO * bad * (ok + failed)
        end

        def many_fail_together?
          return true if @evidence.trouble >= TROUBLE
          return true if everywhere?

          good, bad = *@evidence.units
          return true if bad >= UNITS && bad * RATIO > good

          counts.any? { |ok, failed| failed > 1 && failed * RATIO > ok }
        end

        # (A few messages that fail where nothing else waits aren't an outage.)
        def everywhere?
          @evidence.comparable && @evidence.trouble_each >= TopicEvidence::FAILURE &&
            (@evidence.behind || @evidence.failing + @evidence.failing_elsewhere >= SEVERAL)
        end

        # What another process has counted proves nothing while nothing succeeds. Where few succeed,
        # or others fail first, too, it must have failed more often, because chance may have chosen
        # it.
        def message_bad?
          return false if @history.restored? && nothing_proves?

          few = counts.any? { |ok, failed| failed == 1 && RATIO > ok }
          return false unless @history.against >= [@attempts - 1, 1].max + (few ? MORE : 0)

          !@evidence.comparable || @history.restored? ||
            @history.against + @evidence.messages.first >= ENOUGH + @evidence.trouble
        end

        def nothing_proves?
          return true if FailureCause.several?(@evidence)

          @evidence.swarm.first < LEAST && !only_it_fails?
        end

        def only_it_fails?
          @evidence.stuck_for >= SILENT && @evidence.failing == 1 &&
            @evidence.failing_elsewhere.zero?
        end

        def counts = [@evidence.messages, @evidence.swarm]

        def much_succeeds_elsewhere?
          good, bad = *@evidence.elsewhere
          good >= [LEAST, RATIO * bad].max
        end

        # Only this message fails here, or all that do have failed in other processes, too.
        def by_other_processes
          return unless @evidence.failing_elsewhere.zero? && much_succeeds_elsewhere?
          return unless @evidence.stuck_for >= STUCK && @alone && @history.count >= @attempts

          return :another_process unless @evidence.fresh

          :message if @evidence.stuck_for >= ALONE # until then others may accuse the process
        end

        def by_whole_swarm
          return unless FailureCause.several?(@evidence)
          return :dependency if @evidence.failing_elsewhere.positive? || @evidence.fresh

          alone_with_it
        end

        # Nothing succeeds here, and no other process tries anything.
        def alone_with_it
          return unless FailureCause.several?(@evidence) && @evidence.elsewhere.first.zero?
          return if @evidence.failing_elsewhere.positive? || @evidence.fresh

          :another_process if @evidence.alone && @evidence.stuck_for >= ALONE
        end
      end
    end
  end
end
