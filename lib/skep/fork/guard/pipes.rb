# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Pipes by which a process wakes itself: both ends are here. A pipe to another process, such
      # as a standard stream, passes.
      class Pipes
        WHAT = "pipes"
        ADVICE = "a child shares it, and may read a wake-up that was meant for the parent: " \
                 "make it anew in each child, by Skep.on_fork for one"
        private_constant :ADVICE

        #: (Survey) -> void
        def initialize(survey)
          @survey = survey
        end

        #: () -> Array[Finding]
        def findings
          held = @survey.inner("pipe").reject { |one| @survey.reserved?(one) }
          return [] if held.empty?

          [Finding.new(kind: :pipe, severity: :note, advice: ADVICE, where: where(held),
                       what: "pipes with both ends in this process")]
        end

        private

        #: (Array[Descriptor]) -> String
        def where(held)
          places = held.filter_map { |one| (io = @survey.io(one.fd)) && @survey.place(io) }
          [*places.uniq, *held.sort_by(&:fd)].join(", ")
        end
      end
      private_constant :Pipes
    end
  end
end
