# frozen_string_literal: true

# The events of a running swarm, in their order: `Client#events` and `Client#history` return it.
#
#   stream = client.events
#   stream.to_io      # readable when there is something to read
#   stream.read       # => the events that have arrived, as Hashes; never waits
#   stream.ended?     # returns true once the swarm has ended, or has closed this stream
#   stream.lost       # => how many events never arrived, by their numbers
#   stream.error      # => why the swarm closed this stream; nil if it didn't
#   stream.close
#
#   stream = client.history(follow: true)
#   stream.read
#   stream.take_past  # => the events that the swarm had kept, once; nil before all have arrived
#   stream.position   # => ["311-8123", 42]: client.history(after: position) continues there
#
# No event is missing between the past and those of `read`. Where some are missing before the past,
# it begins with an EventGap.
module Skep
  module Control
    class EventStream
      attr_reader :lost, :error
      attr_reader :series # the charts' numbers, if they were asked for (Control::SeriesHistory)

      # after: where an earlier stream of this swarm had got to.
      def initialize(connection, command, after: nil, **facts)
        @connection = connection
        @after = after
        @lost = @coming = 0
        @past = []
        @seq = nil
        @ended = false
        @early = nil
        @connection.write(command:, **facts)
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
        live = [*early, *events.select { |event| event["seq"] ? live?(event) : note(event) }]
        @error ||= "it has ended" if ended? && @coming.positive?
        live
      end

      # Returns the events that the swarm had kept, and an EventGap before them if some are missing.
      # Returns nil until all have arrived, and once they were taken.
      def take_past
        return if @run.nil? || @coming.positive?

        past, @past = @past, nil
        past
      end

      # Returns the name of this life of the supervisor, and the number of the last event that has
      # arrived; what was given as `after` until the whole past has arrived.
      def position = @run && @coming.zero? ? [@run, @seq] : @after

      private

      # Returns false for an event of the past.
      def live?(event)
        return count(event) if @coming.zero?

        @coming -= 1
        @past << event if event["seq"] > @known
        false
      end

      # One of level debug has the number of the event before it.
      def count(event)
        @lost += [event["seq"] - @seq - 1, 0].max if @seq
        @seq = event["seq"]
      end

      # Where the stream begins, or why it ends.
      def note(facts)
        start = facts["follow"]
        @seq = start["seq"] if Answer.fits?(start, { "seq" => Integer })
        expect_past(facts["history"]) if Answer.fits?(facts["history"], Answer::HISTORY)
        @error = facts["error"] if facts["error"]
        @lost += facts["missed"] if facts["missed"].is_a?(Integer)
        false
      end

      def expect_past(history)
        @run, @seq, @coming, @series = history.values_at("run", "seq", "events", "series")
        before, number = @after
        same = before == @run
        @known = same ? number : 0
        missing = [history["lost"] - @known, 0].max
        @lost += missing
        gap = EventGap.new(missing, restarted: !@after.nil? && !same)
        @past << gap if gap.any?
      end
    end
  end
end
