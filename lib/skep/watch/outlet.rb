# frozen_string_literal: true

require "io/wait"

# Writes lines to a stream that others share, without ever blocking on it and without making it
# non-blocking (that would change it for every process that has it open).
#
#   outlet = Outlet.new($stdout)
#   outlet.loop = loop        # from here on what didn't fit is written once the reader has read
#   outlet.put("a line\n")    # kept, up to BACKLOG bytes, while the reader is slow; then lost
#   outlet.finish(1.0)        # at the end, waits for a slow reader so long
#   outlet.lost               # => how many lines were lost and nobody was told of
#   outlet.put("2 lost\n", telling: 2)   # they are told of once this line isn't lost itself
#
# A pipe that polls writable takes PIPE_BUF bytes without blocking, pipe(7);
# so it writes in pieces of that size.
module Skep
  module Watch
    class Outlet
      # A terminal that polls writable may take less than a piece, and block:
      # it is opened anew, not blocking for us alone.
      def self.on(io) #: (IO) -> Outlet
        return new(io) unless io.tty?

        new(File.open("/proc/self/fd/#{io.fileno}", File::WRONLY | File::NONBLOCK | File::NOCTTY))
      rescue SystemCallError # no /proc, or it isn't ours to open
        new(io)
      end

      PIECE = 4096
      BACKLOG = 1024 * 1024
      private_constant :PIECE, :BACKLOG

      attr_writer :loop #: OS::EventLoop

      def initialize(io) #: (IO) -> void
        @io = io
        @lines = [] # not one text: each write would copy all that is left
        @piece = String.new(encoding: Encoding::BINARY)
        @bytes = @lost = @telling = 0
      end

      attr_accessor :lost #: Integer

      def put(line, telling: 0) #: (String, ?telling: Integer) -> void
        return @lost += 1 if @bytes + line.bytesize > BACKLOG

        @lines << line.b
        @bytes += line.bytesize
        @lost -= telling
        @telling += telling
        drain
      end

      # What is yet to be written.
      def dump #: () -> Hash[String, untyped]
        drain
        { "rest" => [[@piece, *@lines].join].pack("m0"), "lost" => @lost + @telling }
      end

      # After what comes from another program's outlet.
      def restore(plain) #: (Hash[String, untyped]) -> void
        @lost += plain["lost"]
        rest = plain["rest"].unpack1("m0")
        @lines << rest
        @bytes += rest.bytesize
        drain
      end

      def closed? = @io.closed? #: () -> bool

      # The end: gives a slow reader so many seconds for what is left.
      def finish(seconds) #: (Float) -> void
        deadline = OS.now + seconds
        loop do
          drain
          break if @bytes.zero? || !@io.wait_writable([deadline - OS.now, 0].max)
        end
        rest_no_more
      end

      # Writes what can be written now and closes; what the reader never read is gone.
      def close #: () -> void
        drain
        rest_no_more
        @io.close
      end

      # Writes what can be written now.
      def drain #: () -> void
        write_piece while @bytes.positive? && OS::EventLoop::ReadyNow.writable?(@io)
        @bytes.zero? ? rest_no_more : wait_for_reader
      rescue Errno::EAGAIN # a terminal with room for less than a piece
        wait_for_reader
      rescue SystemCallError, IOError # disk full, or the reader has gone
        @lost += [@piece, *@lines].sum { |text| text.count("\n") } + @telling
        [@piece, @lines].each(&:clear) # what can't be told is counted
        @bytes = 0
        rest_no_more
      end

      private

      def write_piece
        @piece << @lines.shift while @lines.any? && @piece.bytesize < PIECE
        written = @io.syswrite(@piece.byteslice(0, PIECE))
        @piece = @piece.byteslice(written..)
        @bytes -= written
      end

      def rest_no_more
        @telling = 0
        @watch&.cancel
        @watch = nil
      end

      def wait_for_reader
        @watch ||= @loop&.watch(@io, write: true) { drain }&.tap { |watch| watch.read = false }
      end
    end
  end
end
