# frozen_string_literal: true

module Skep
  module Fork
    class Warmup
      # What a warmup did.
      #
      #   report.seconds          # its duration
      #   report.bytes_before     # resident memory; nil if the system doesn't show it
      #   report.bytes_after      # resident memory afterwards; nil likewise
      #   report.steps            # => [Step], in order
      #   puts report             # a table
      Report = Struct.new(:seconds, :bytes_before, :bytes_after, :steps, keyword_init: true) do
        def initialize(**)
          super
          freeze
        end

        def to_s
          head = format("warmed up in %.2f s, resident memory %s before, %s after",
                        seconds, megabytes(bytes_before), megabytes(bytes_after))
          [head, *steps.map { |step| "  #{step}" }].join("\n")
        end

        # Returns each step's outcome by its name.
        def to_plain = steps.to_h { |step| [step.name.to_s, step.outcome] }

        private

        def megabytes(bytes) = bytes ? format("%.1f MB", bytes / 1e6) : "unknown"
      end

      # One step, either done or skipped.
      #
      #   step.name       # => Symbol
      #   step.seconds    # its duration
      #   step.skipped    # => why it was skipped, or nil
      #   step.note       # => what it did
      Report::Step = Struct.new(:name, :seconds, :skipped, :note, keyword_init: true) do
        def initialize(**)
          super
          freeze
        end

        def to_s
          format("%<name>-10s  %<seconds>7.3f s  %<outcome>s", name:, seconds:, outcome:)
        end

        # Returns what the step did, or why it was skipped.
        def outcome = skipped ? "skipped: #{skipped}" : note
      end
    end
  end
end
