# frozen_string_literal: true

module Skep
  module Fork
    class Warmup
      # What a warmup did.
      #
      #   report.seconds          # it took
      #   report.bytes_before     # resident memory; nil where nobody can tell
      #   report.bytes_after      # the same when it was over
      #   report.steps            # => [Step], in their order
      #   puts report             # all in a table
      Report = Struct.new(:seconds, :bytes_before, :bytes_after, :steps, keyword_init: true) do
        #: (**untyped) -> void
        def initialize(**)
          super
          freeze
        end

        #: () -> String
        def to_s
          head = format("warmed up in %.2f s, resident memory %s before, %s after",
                        seconds, megabytes(bytes_before), megabytes(bytes_after))
          [head, *steps.map { |step| "  #{step}" }].join("\n")
        end

        # Each step's outcome by its name, as plain data.
        #
        #: () -> Hash[String, String]
        def to_plain = steps.to_h { |step| [step.name.to_s, step.outcome] }

        private

        #: (Integer?) -> String
        def megabytes(bytes) = bytes ? format("%.1f MB", bytes / 1e6) : "unknown"
      end

      # One of its steps, either skipped or done.
      #
      #   step.name       # => Symbol
      #   step.seconds    # it took
      #   step.skipped    # => why it was left out; nil: it wasn't
      #   step.note       # => what it did
      Report::Step = Struct.new(:name, :seconds, :skipped, :note, keyword_init: true) do
        #: (**untyped) -> void
        def initialize(**)
          super
          freeze
        end

        #: () -> String
        def to_s
          format("%<name>-10s  %<seconds>7.3f s  %<outcome>s", name:, seconds:, outcome:)
        end

        # What came of it, or why it was left out.
        #: () -> String
        def outcome = skipped ? "skipped: #{skipped}" : note
      end
    end
  end
end
