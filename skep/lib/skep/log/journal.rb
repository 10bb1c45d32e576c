# frozen_string_literal: true

# systemd's journal: whether a stream leads to it, and a writer for its entries.
#
#   journal = Journal.new
#   journal.behind?($stdout)    # returns true if the journal reads this stream
#   journal.writer              # => DatagramWriter for entries (JournalFormatter); raises NoJournal
#
# systemd.exec(5), JOURNAL_STREAM.
module Skep
  module Log
    class Journal
      SOCKET = "/run/systemd/journal/socket"
      private_constant :SOCKET

      def initialize(path: SOCKET, env: ENV)
        @path = path
        @stream = env["JOURNAL_STREAM"]
      end

      def behind?(io)
        return false unless @stream && File.socket?(@path)

        stat = io.stat
        @stream == "#{stat.dev}:#{stat.ino}"
      rescue SystemCallError, IOError, NoMethodError # closed, or not an IO
        false
      end

      def writer
        raise NoJournal.new(path: @path) unless File.socket?(@path)

        DatagramWriter.new(@path)
      end
    end
  end
end
