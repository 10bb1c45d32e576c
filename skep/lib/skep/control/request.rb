# frozen_string_literal: true

# A command that was sent to a swarm and is not yet answered: `Client#call_async` returns it.
#
#   request.to_io      # readable when there is something to read
#   request.read       # => nil: not yet; the answer as a Hash; raises Unreachable
#   request.peer       # the pid of the process that answers
#   request.close
module Skep
  module Control
    class Request
      def initialize(path, connection, command, facts)
        @path = path
        @connection = connection
        @connection.write(command:, **facts)
      rescue SystemCallError => e
        close
        raise Unreachable.because(@path, e)
      end

      def to_io = @connection.to_io
      def peer = @connection.peer
      def close = @connection.close

      def read
        return if @connection.receive

        Answer.parse(@connection.rest)
      rescue SystemCallError, InvalidAnswer => e
        raise Unreachable.because(@path, e)
      end

      # Waits for the answer until the deadline; nil waits for ever.
      def wait(deadline)
        until (answer = read)
          timeout = deadline && [deadline - OS.now, 0].max
          to_io.wait_readable(timeout) or raise Unreachable.new(path: @path, error: "it is silent")
        end
        answer
      end
    end
  end
end
