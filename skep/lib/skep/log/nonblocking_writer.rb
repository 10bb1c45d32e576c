# frozen_string_literal: true

require "io/wait"

# Writes records in order, without ever waiting for a reader. Records that a slow reader leaves are
# kept, up to MAX_BYTES. Further records, and those that can't be written, are lost and counted.
#
#   writer.loop = loop             # from now on it writes the rest once the reader has read
#   writer.write("a line\n")
#   writer.lost                    # => how many records were lost and not yet reported
#   writer.write("2 lost\n", reports: 2)   # they count as reported once this one is written
#   writer.finish(1.0)             # before the end: waits up to a second for a slow reader
#   writer.give_up                 # => how many records are lost, with those that are left
#   writer.close                   # the same, and closes
#
# StreamWriter and DatagramWriter say how a record is written: `write_some`, `discard_pending` and
# `close_io`.
module Skep
  module Log
    class NonblockingWriter
      MAX_BYTES = 1024 * 1024
      private_constant :MAX_BYTES

      attr_writer :loop
      attr_accessor :lost

      def initialize
        @pending = [] # records, not one text: each write would copy the rest
        @bytes = @lost = @reporting = 0
      end

      # reports: how many lost records this one reports.
      def write(record, reports: 0)
        return @lost += 1 if @bytes + record.bytesize > MAX_BYTES

        push(record)
        @lost -= reports
        @reporting += reports
        drain unless @watch # else the loop drains it as soon as the reader has read
      end

      def pending? = @bytes.positive?

      # Waits up to `timeout` seconds until all is written.
      def finish(timeout)
        deadline = OS.now + timeout
        drain
        drain while pending? && io.wait_writable([deadline - OS.now, 0].max)
        stop_waiting
      end

      # Writes what can be written now; the rest is lost. Returns how many records are.
      def give_up
        drain
        lose_pending if pending?
        lost
      end

      # The same, and closes.
      def close
        give_up
        close_io
      end

      # In a forked process: the parent writes what is pending.
      def close_in_child = close_io

      # Writes what can be written now.
      def drain
        nil while pending? && write_some
        pending? ? wait_for_reader : stop_waiting
      rescue SystemCallError, IOError, ArgumentError # no space, no reader, or an invalid path
        lose_pending
      end

      private

      def lose_pending
        @lost += discard_pending + @reporting
        @bytes = 0
        stop_waiting
      end

      attr_reader :io

      def push(record)
        @pending << record.b
        @bytes += record.bytesize
      end

      # Returns how many records are pending, and drops them.
      def discard_pending
        @pending.size.tap { @pending.clear }
      end

      def wait_for_reader
        @watch ||= @loop&.watch(io, write: true) { drain }&.tap { |watch| watch.read = false }
      end

      def stop_waiting
        @reporting = 0
        @watch&.cancel
        @watch = nil
      end
    end
  end
end
