# frozen_string_literal: true

require "socket"

# Asks a running swarm over its status socket.
#
#   Query.new("/run/skep/billing.sock").ask("status")   # => {"status" => {…}}, or Query::Failed
#   feed = Query.new("/run/skep/billing.sock").follow   # => Feed: each event as it happens
module Skep
  module Watch
    class Query
      SECONDS = 10.0
      MOST = 64 * 1024 * 1024 # bytes of an answer
      private_constant :SECONDS, :MOST

      # Nobody answers there, or not in time, or not in words that are understood.
      class Failed < Skep::Error
        attr_reader :error #: String, why

        def initialize(path:, error:)
          @error = error
          super("no swarm answers at #{path}, #{error}: " \
                "is it running? name it, or its socket with --control PATH")
        end
      end

      # It answers, but its events can't be followed.
      class Refused < Skep::Error
        def initialize(path:, error:)
          super("the swarm at #{path} can't be followed: #{error}")
        end
      end

      # It answers that it can't.
      class Declined < Skep::Error
      end

      # The pids it tells of aren't those of this process' view of the system.
      class Elsewhere < Skep::Error
        def initialize(path:, pid:, peer:)
          answers = peer&.positive? ? "process #{peer}" : "a process that can't be seen here"
          super("the swarm at #{path} says it is process #{pid}, but #{answers} answers: it runs " \
                "in another container, or is no swarm; run this command where it runs")
        end
      end

      def initialize(path) #: (String) -> void
        @path = path
      end

      attr_reader :peer #: Integer?, the pid of who answered last; nil where that isn't told

      # seconds: how long to wait for the answer, for ever if nil.
      #: (String, ?seconds: Float?, **untyped) -> Hash[String, untyped]
      def ask(command, seconds: SECONDS, **facts)
        guard do
          socket = Connection.open(@path, seconds)
          @peer = Connection.pid_of(socket)
          socket.write(Status.line(command:, **facts))
          Answer.parse(read(socket, seconds))
        ensure
          socket&.close
        end
      end

      # Its status. Raises Failed, or Declined.
      def status(seconds: SECONDS) #: (?seconds: Float?) -> Hash[String, untyped]
        answer = ask("status", seconds:)
        raise Declined, answer["error"] if answer["error"]

        guard { answer["status"] or raise Answer::Foreign }
      end

      # The same, if the pids in it are those of processes that this one sees: raises Elsewhere.
      def status_here #: () -> Hash[String, untyped]
        status.tap do |told|
          pid = told["pid"]
          Connection.here?(peer, pid) or raise Elsewhere.new(path: @path, pid:, peer:)
        end
      end

      # All events from here on, the caller's to close. Raises Failed, or Refused.
      def follow #: () -> Feed
        feed = guard { Feed.new(Connection.open(@path, SECONDS)) }
        error = feed.begin(SECONDS) or return feed
        feed.close
        raise Refused.new(path: @path, error:)
      end

      # The same, and never waits: what the swarm answers is told by the feed.
      def follow_soon #: () -> Feed
        guard { Feed.new(Connection.try(@path)).tap(&:ask) }
      end

      private

      def guard
        yield
      rescue SystemCallError, ArgumentError, Answer::Foreign => e
        raise Failed.new(path: @path, error: e.message.sub(/ - .*/, "").downcase)
      end

      def read(socket, seconds)
        deadline = seconds && (OS.now + seconds)
        answer = +""
        loop do
          readable = socket.wait_readable(deadline && [deadline - OS.now, 0].max)
          raise Failed.new(path: @path, error: "it is silent") unless readable

          answer << socket.readpartial(65_536)
          raise Answer::Foreign if answer.bytesize > MOST
        end
      rescue EOFError
        answer
      end
    end
  end
end
