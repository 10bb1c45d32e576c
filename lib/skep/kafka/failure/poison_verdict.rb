# frozen_string_literal: true

# What becomes of a message that has crashed its node too often: it isn't tried again, but goes to
# the dead letter topic, or is skipped, or its partition rests, as `poison:` wants it.
#
#   sentence.pass(item)   # whose batch is of one message, which PoisonDetector found guilty
module Skep
  module Kafka
    module Failure
      class PoisonVerdict
        NOTES = {
          dead_letter: "it isn't tried again: the partition moves on",
          pause: "its partition rests: mend the code and reload, or begin anew with dead_letter: " \
                 "or poison: :skip",
          skip: "it isn't tried again: the partition moves on without it"
        }.freeze
        private_constant :NOTES

        #: (Processing::Tools, PoisonDetector, Processing::Completion, FailureHandler) -> void
        def initialize(tools, poison, completion, failure_handler)
          @poison, @completion, @failure_handler = poison, completion, failure_handler
          @verdict, @report = tools.options.poison, tools.report
        end

        def pass(item) #: (Processing::WorkItem) -> void
          batch = item.batch
          crashes = @poison.crashes(batch)
          error = CrashedNode.new(crashes:, ends: @poison.ends(batch))
          item.failed(batch.first_offset) # the second and later ones: to set it aside
          convict(batch, error, crashes) if item.failures.count == 1
          carry_out(item, error, crashes)
        end

        private

        def convict(batch, error, crashes)
          @poison.convict(batch)
          @report.failed(:message_convicted, batch, error, crashes:, verdict: @verdict,
                                                           note: NOTES.fetch(@verdict))
        end

        def carry_out(item, error, crashes)
          case @verdict
          when :dead_letter then @failure_handler.bury(item, error, attempts: crashes, crashes:)
          when :pause then item.pause
          when :skip then @failure_handler.skip(item)
          end
        end
      end
    end
  end
end
