# frozen_string_literal: true

require "json"
require "socket"

# Asks a running swarm over its status socket.
#
#   Query.new("/run/skep/billing.sock").ask("status")   # => {"status" => {…}}, or Query::Failed
#   feed = Query.new("/run/skep/billing.sock").follow   # => Feed: each event as it happens
module Skep
  module Watch
    class Query
      SECONDS = 10.0
      private_constant :SECONDS

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

      def initialize(path) #: (String) -> void
        @path = path
      end

      # seconds: how long to wait for the answer, for ever if nil.
      #: (String, ?seconds: Float?, **untyped) -> Hash[String, untyped]
      def ask(command, seconds: SECONDS, **facts)
        guard do
          socket = Connection.open(@path, seconds)
          socket.write(Status.line(command:, **facts))
          JSON.parse(read(socket, seconds), max_nesting: false)
        ensure
          socket&.close
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
      rescue SystemCallError, ArgumentError, JSON::ParserError => e
        raise Failed.new(path: @path, error: e.message.sub(/ - .*/, "").downcase)
      end

      def read(socket, seconds)
        deadline = seconds && (OS.now + seconds)
        answer = +""
        loop do
          readable = socket.wait_readable(deadline && [deadline - OS.now, 0].max)
          raise Failed.new(path: @path, error: "it is silent") unless readable

          answer << socket.readpartial(65_536)
        end
      rescue EOFError
        answer
      end
    end
  end
end
