# frozen_string_literal: true

# A question to a running swarm, for who has other things to do meanwhile.
#
#   question = Question.new("/run/skep/billing.sock", "status")
#   question.to_io      # readable when there is something to take
#   question.take       # => nil: not yet; {"status" => {…}} once it is answered; or Query::Failed
#   question.pid        # of who answers, as we see it
#   question.close
module Skep
  module Watch
    class Question
      PIECE = 65_536
      MOST = 64 * 1024 * 1024
      private_constant :PIECE, :MOST

      #: (String, String, **untyped) -> void
      def initialize(path, command, **facts)
        @path = path
        @answer = String.new(encoding: Encoding::UTF_8)
        @socket = Connection.try(path)
        @socket.write_nonblock(Status.line(command:, **facts))
      rescue SystemCallError, ArgumentError => e
        @socket&.close
        fail_with(e)
      end

      def to_io = @socket #: () -> Socket
      def close = @socket.close #: () -> void
      def pid = Connection.pid_of(@socket) #: () -> Integer?

      def take #: () -> Hash[String, untyped]?
        until (bytes = @socket.read_nonblock(PIECE, exception: false)) == :wait_readable
          return Answer.parse(@answer) if bytes.nil?

          @answer << bytes.force_encoding(Encoding::UTF_8)
          raise Answer::Foreign if @answer.bytesize > MOST
        end
      rescue SystemCallError, Answer::Foreign => e
        fail_with(e)
      end

      private

      def fail_with(error)
        raise Query::Failed.new(path: @path, error: error.message.sub(/ - .*/, "").downcase)
      end
    end
  end
end
