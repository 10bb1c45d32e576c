# frozen_string_literal: true

# Writes lines to a stream that other processes share, without making it non-blocking: that would
# change it for all of them.
#
#   writer = StreamWriter.for($stdout)
#   writer.write("a line\n")
#
# A stream that isn't an IO, such as a StringIO that a program has put into $stdout, takes all.
# A pipe that polls writable takes PIPE_BUF bytes without blocking, pipe(7): lines are written in
# pieces of that size. A line whose rest is lost ends before the next one is written.
module Skep
  module Log
    class StreamWriter < NonblockingWriter
      PIECE = 4096
      NEWLINE = "\n".ord
      private_constant :PIECE, :NEWLINE

      # A terminal that polls writable may take less than a piece and block: it is opened again,
      # non-blocking for this process alone.
      def self.for(io)
        return new(io) unless io.is_a?(IO) && io.tty?

        new(File.open("/proc/self/fd/#{io.fileno}", File::WRONLY | File::NONBLOCK | File::NOCTTY))
      rescue SystemCallError # no /proc, or the terminal can't be opened
        new(io)
      end

      def initialize(io)
        super()
        @io = io
        @piece = String.new(encoding: Encoding::BINARY)
      end

      private

      # Writes a piece; returns false if the stream takes none now.
      def write_some
        return false unless writable?
        return end_torn_line if @torn

        @piece << @pending.shift while @pending.any? && @piece.bytesize < PIECE
        written = put(@piece.byteslice(0, PIECE))
        @within_line = @piece.getbyte(written - 1) != NEWLINE
        @piece = @piece.byteslice(written..)
        @bytes -= written
        true
      rescue Errno::EAGAIN # a terminal with space for less than a piece
        false
      rescue Errno::EINTR # by a signal, before it took anything
        true
      end

      # Returns how many bytes the stream has taken.
      def put(piece)
        return @io.syswrite(piece) if @io.respond_to?(:syswrite)

        @io.write(piece)
        piece.bytesize
      end

      def writable?
        return true if takes_all?

        !OS::EventLoop::ReadyNow.again { |seconds| @io.wait_writable(seconds) }.nil?
      end

      # A file always takes what there is space for; a look that signals interrupt would say that it
      # doesn't.
      def takes_all?
        @takes_all = !@io.is_a?(IO) || @io.stat.file? if @takes_all.nil?
        @takes_all
      end

      def end_torn_line
        put("\n")
        @torn = @within_line = false
        true
      end

      # A line of which a part was written counts, too.
      def discard_pending
        lines = [@piece, *@pending].sum { |text| text.count("\n") }
        @piece.clear
        @torn = @within_line
        super
        lines
      end

      def close_io = @io.close
    end
  end
end
