# frozen_string_literal: true

# Is there systemd's journal, and is it what we write to?
#
#   journal = Journal.new
#   journal.behind?($stdout)    # what we write there goes to it
#   journal.post                # => Post: takes entries (JournalEntry); raises Unreachable
#
# systemd.exec(5), JOURNAL_STREAM.
module Skep
  module Watch
    class Journal
      SOCKET = "/run/systemd/journal/socket"
      private_constant :SOCKET

      class Unreachable < Skep::Error
        def initialize(path:)
          super("log_format: journal takes systemd's journal, and there is none at #{path}: " \
                "leave log_format out, or give text or json")
        end

        def exit_code = ExitCode::CONFIGURATION #: () -> Integer
      end

      def initialize(path: SOCKET, env: ENV) #: (?path: String, ?env: untyped) -> void
        @path = path
        @stream = env["JOURNAL_STREAM"]
      end

      def behind?(io) #: (IO) -> bool
        return false unless @stream && File.socket?(@path)

        stat = io.stat
        @stream == "#{stat.dev}:#{stat.ino}"
      rescue SystemCallError, IOError, NoMethodError # closed, or no IO at all
        false
      end

      def post #: () -> Post
        raise Unreachable.new(path: @path) unless File.socket?(@path)

        Post.new(@path)
      end
    end
  end
end
