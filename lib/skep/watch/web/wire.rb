# frozen_string_literal: true

require "socket"

module Skep
  module Watch
    class Web
      # One question to a swarm's status socket, within a loop: it never waits.
      #
      #   Wire.new(loop, path, "status") { |facts| … }            # facts of each line; nil: the end
      #   wire = Wire.new(loop, path, "follow", seconds: nil) { |facts| … }
      #   wire.peer                                               # => its pid
      #   wire.close                                              # nothing more is heard
      #
      # Raises SystemCallError or ArgumentError where nobody listens. Who is silent for so many
      # seconds, or says more than MOST in a line, has come to his end.
      class Wire
        SECONDS = 10.0
        PIECE = 262_144
        MOST = 64 * 1024 * 1024
        private_constant :SECONDS, :PIECE, :MOST

        #: (OS::EventLoop, String, String, ?seconds: Float?) { (Hash?) -> void } -> void
        def initialize(loop, path, command, seconds: SECONDS, &hear)
          @hear = hear
          @buffer = String.new(encoding: Encoding::BINARY)
          @socket = Socket.new(:UNIX, :STREAM)
          @socket.connect_nonblock(Socket.sockaddr_un(path))
          @socket.write_nonblock(Status.line(command:))
          @watch = loop.watch(@socket) { read }
          @timer = loop.after(seconds) { finish } if seconds
        rescue SystemCallError, ArgumentError
          @socket&.close
          raise
        end

        # Who listens there, while it is open, where that is told and in this process' own /proc.
        def peer #: () -> Integer?
          return if @socket.closed? || !Socket.const_defined?(:SO_PEERCRED)

          @socket.getsockopt(:SOCKET, :PEERCRED).data.unpack1("i")
        rescue SystemCallError # it has gone
          nil
        end

        def close #: () -> void
          return if @socket.closed?

          [@watch, @timer].compact.each(&:cancel)
          @socket.close
        end

        private

        def read
          bytes = @socket.read_nonblock(PIECE, exception: false)
          return if bytes == :wait_readable
          return finish if bytes.nil? || @buffer.bytesize > MOST

          @buffer << bytes
          while !@socket.closed? && (line = @buffer.slice!(/\A.*\n/))
            @hear.call(Answer.event(line.force_encoding("UTF-8")))
          end
        rescue SystemCallError, Answer::Foreign # it has gone, or is no swarm
          finish
        end

        def finish
          close
          @hear.call(nil)
        end
      end
      private_constant :Wire
    end
  end
end
