# frozen_string_literal: true

# The events of a running swarm, in their order: `Client#events` returns it.
#
#   stream = client.events
#   stream.to_io      # readable when there is something to read
#   stream.read       # => the events that have arrived, as Hashes; never waits
#   stream.ended?     # returns true once the swarm has ended, or has closed this stream
#   stream.lost       # => how many events never arrived, by their numbers
#   stream.error      # => why the swarm closed this stream; nil if it didn't
#   stream.close
module Skep
  module Control
    class EventStream
      attr_reader :lost, :error

      def initialize(connection)
        @connection = connection
        @lost = 0
        @seq = nil
        @ended = false
        @early = nil
        @connection.write(command: "follow")
      rescue SystemCallError
        close
        raise
      end

      # Returns the socket, which is readable once there are events, and at the end.
      def to_io = @connection.to_io

      # Returns true once no more events come.
      def ended? = @ended

      # Closes the socket. The swarm keeps running.
      def close = @connection.close

      # Waits for the swarm's answer, and returns why it sends no events; nil if it does.
      def refusal(timeout)
        deadline = OS.now + timeout
        until @seq || @error || ended?
          return "it is silent" unless to_io.wait_readable([deadline - OS.now, 0].max)

          @early = read
        end
        @error || ("it has ended" unless @seq)
      rescue SystemCallError, InvalidAnswer => e
        e.message
      end

      # Raises InvalidAnswer if what arrives isn't a swarm's.
      def read
        @ended = true unless @connection.receive
        events = @connection.lines.map { |line| Answer.event(line) }
        early, @early = @early, nil
        [*early, *events.select { |event| event["seq"] ? count(event) : note(event) }]
      end

      private

      def count(event)
        @lost += event["seq"] - @seq - 1 if @seq
        @seq = event["seq"]
      end

      # Where the stream begins, or why it ends.
      def note(facts)
        start = facts["follow"]
        @seq = start["seq"] if Answer.fits?(start, { "seq" => Integer })
        @error = facts["error"] if facts["error"]
        @lost += facts["missed"] if facts["missed"].is_a?(Integer)
        false
      end
    end
  end
end
