# frozen_string_literal: true

require "json"

# The last events of a swarm, as lines for the control socket. Its memory is bounded: events may be
# large.
#
#   history = EventHistory.new
#   history.add({ seq: 42, event: "node_died", node: 0 }, line)
#   history.lines    # => the lines that are kept, the oldest first
#   history.lost     # => 17, the number of the newest event that was dropped; 0: none was
#
# An event whose line is longer than LONGEST is kept without its largest facts, and its texts are
# cut. Its fact `left_out` is the number of bytes that it had.
module Skep
  module Control
    class EventHistory
      EVENTS = 1000
      BYTES = 2 * 1024 * 1024
      LONGEST = 16 * 1024
      TEXT = 1024 # characters of a text in a long event
      FACT = 8 * TEXT # bytes of a fact, as JSON
      HEAD = %i[seq time mono level event swarm node mold pid error at].freeze
      private_constant :EVENTS, :BYTES, :LONGEST, :TEXT, :FACT, :HEAD

      attr_reader :lost, :bytes

      def initialize
        @kept = []
        @bytes = @lost = 0
      end

      def add(event, line)
        line = shortened(event, line.bytesize) if line.bytesize > LONGEST
        @kept << [event[:seq], line]
        @bytes += line.bytesize
        drop_oldest while @kept.size > EVENTS || @bytes > BYTES
      end

      def size = @kept.size
      def lines = @kept.map(&:last)
      def inspect = "#<#{self.class} #{size} events, #{bytes} bytes>"

      private

      def drop_oldest
        @lost, line = @kept.shift
        @bytes -= line.bytesize
      end

      def shortened(event, bytes)
        cut = event.transform_values { |value| value.is_a?(String) ? value[0, TEXT] : value }
        cut.select! { |_, value| JSON.generate(value, max_nesting: 0).bytesize <= FACT }
        line = Control.line(**cut, left_out: bytes)
        line.bytesize > LONGEST ? Control.line(**cut.slice(*HEAD), left_out: bytes) : line
      end
    end
  end
end
