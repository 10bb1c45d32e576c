# frozen_string_literal: true

module Skep
  # Where a log can't be written.
  module Log
    # The option `log` names a file that can't be opened.
    class Unwritable < Skep::Error
      def initialize(path:, error:)
        super("the log #{path} can't be written, #{error}: " \
              "name a file in a directory that can be written to")
      end

      def exit_code = ExitCode::CONFIGURATION
    end

    # The option `log_format: :journal` where there is no journal.
    class NoJournal < Skep::Error
      def initialize(path:)
        super("log_format: journal takes systemd's journal, and there is none at #{path}: " \
              "leave log_format out, or give text or json")
      end

      def exit_code = ExitCode::CONFIGURATION
    end
  end
end
