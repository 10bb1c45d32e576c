# frozen_string_literal: true

# The events of a running swarm, one after the other, as `Query#follow` gives them.
#
#   feed = Query.new(path).follow
#   feed.to_io                # readable when there is something to take
#   feed.take                 # => events that have come, as hashes; never waits
#   feed.ended?               # the swarm has ended, or it dropped us
#   feed.lost                 # => how many events never came, by their numbers
#   feed.error                # => why the swarm dropped us, nil if it didn't
#   feed.close
module Skep
  module Watch
    class Feed
      PIECE = 65_536
      private_constant :PIECE

      attr_reader :lost #: Integer, events that never came
      attr_reader :error #: String?, why it ended; nil: it hasn't, or the swarm has

      def initialize(socket) #: (Socket) -> void
        @socket = socket
        @rest = String.new(encoding: Encoding::BINARY)
        @lost = 0
        @seq = nil
      end

      def to_io = @socket #: () -> Socket, readable when there are events, or at the end
      def ended? = @ended ? true : false #: () -> bool, will nothing more come?
      def close = @socket.close #: () -> void, the swarm goes on

      def ask = @socket.write(Status.line(command: "follow")) #: () -> void, once it is connected

      # Asks, and waits so many seconds for the answer; returns why not, nil when all is well.
      def begin(seconds) #: (Float) -> String?
        ask
        deadline = OS.now + seconds
        until (line = @rest.slice!(/\A.*\n/)) || ended?
          return "it is silent" unless @socket.wait_readable([deadline - OS.now, 0].max)

          fill
        end
        accepted(line ? Answer.parse(line) : {})
      rescue SystemCallError, Answer::Foreign => e
        e.message
      end

      # The events that have come since the last call, which never waits. Raises Answer::Foreign.
      def take #: () -> Array[Hash[String, untyped]]
        fill
        *lines, @rest = @rest.split("\n", -1)
        @rest ||= String.new(encoding: Encoding::BINARY)
        facts = lines.map { |line| Answer.event(line.force_encoding("UTF-8")) }
        facts.select { |event| event["seq"] ? count(event) : aside(event) }
      end

      private

      def accepted(answer)
        @seq = begins(answer)
        answer["error"] || (@seq ? nil : "it has ended")
      end

      def fill
        until (bytes = @socket.read_nonblock(PIECE, exception: false)) == :wait_readable
          return @ended = true if bytes.nil?

          @rest << bytes
        end
      rescue Errno::ECONNRESET # an end like any other
        @ended = true
      end

      def count(event)
        @lost += event["seq"] - @seq - 1 if @seq
        @seq = event["seq"]
      end

      # Where it begins, or why it ends.
      def aside(facts)
        @seq = begins(facts) || @seq
        @error = facts["error"]
        @lost += facts["missed"] if facts["missed"].is_a?(Integer)
        false
      end

      def begins(facts)
        facts["follow"]["seq"] if Answer.fits?(facts["follow"], { "seq" => Integer })
      end
    end
  end
end
