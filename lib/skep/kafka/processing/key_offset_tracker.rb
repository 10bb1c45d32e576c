# frozen_string_literal: true

# Tracks which offset of a partition may be committed if its messages are done in any order:
# the lowest unfinished one. Only KeyOrder uses it. Not thread-safe.
#
#   tracker = KeyOffsetTracker.new
#   tracker.open([10, 11, 14], bytes: 300)   # read in one go; 12 and 13 are no messages
#   tracker.done(11)
#   tracker.position    # => 10, to commit: all messages before it are done
#   tracker.done_from(10)   # => "01110", for each offset: 11 is done, 12 is no message
#   tracker.done_beyond     # => 3, offsets behind 10 that are done or no messages
#   tracker.ahead       # => 3, messages from the lowest unfinished one to the last one read
#   tracker.bytes       # => 300, in memory: the messages of one read are freed together
#   tracker.copied(10, bytes: 100)   # except one of which its owner keeps a copy instead
#
# It commits nothing: when the position is committed, and with it what is done beyond, is
# listed above Completion (completion.rb).
module Skep
  module Kafka
    module Processing
      class KeyOffsetTracker
        # Messages read in one go. before: how many messages were read before them; left: how many
        # of them are unfinished, without those that are copied: each is a group of its own.
        ReadGroup = Struct.new(:before, :left, :bytes, :copy)
        ZERO = "0".ord
        private_constant :ReadGroup, :ZERO

        attr_reader :bytes
        attr_reader :next # the offset after the last message read

        def initialize
          @open = {} # unfinished messages: offset => ReadGroup, in order
          @ignored = {} # offset => true
          @read = @bytes = 0
        end

        def open(offsets, bytes:)
          return if offsets.empty?

          group = ReadGroup.new(@read, offsets.size, bytes)
          offsets.each { |offset| @open[offset] = group }
          @open = @open.sort.to_h if @next && offsets.first < @next # the log was truncated
          @read += offsets.size
          @bytes += bytes
          @next = offsets.last + 1
        end

        # So many messages were read that the last owner had done: they count for `ahead`.
        def skipped(count) = @read += count

        # Does nothing for a message that is done already.
        def done(offset)
          group = @open.delete(offset) or return
          @moved = true
          leave(group)
        end

        # A copy of the message is kept instead of it.
        def copied(offset, bytes:)
          group = @open[offset]
          @open[offset] = ReadGroup.new(group.before, 1, bytes, true)
          @bytes += bytes
          leave(group)
        end

        # Returns true if an unfinished message holds the memory of others.
        def shared?(offset) = @open.key?(offset) && !@open[offset].copy

        # A seek doesn't wait for these: `unfinished` leaves them out, though they aren't done.
        def ignore(offsets)
          offsets.each { |offset| @ignored[offset] = true }
        end

        # The lowest unfinished offset below that one which isn't ignored.
        def unfinished(before)
          lower = @open.each_key.take_while { |offset| offset < before }
          lower.find { |offset| !@ignored.key?(offset) }
        end

        # The lowest unfinished offset, or the one after the last message; nil before anything is
        # done.
        def position = @moved ? @open.each_key.first || @next : nil

        # After the messages opened so far there are no others before that offset.
        def skip_to(offset)
          @next = [@next, offset].compact.max
          @moved = true if clear?
        end

        # How many offsets behind the lowest unfinished one, up to the last message read, are done
        # or no messages.
        def done_beyond = clear? ? 0 : @next - @open.each_key.first - @open.size

        def clear? = @open.empty? # true if nothing is unfinished
        def open?(offset) = @open.key?(offset)

        # Returns "0" for an unfinished message at that offset or after it, and "1" for all others,
        # up to the last message read, or for `limit` offsets.
        def done_from(offset, limit: CommitMetadata::OFFSETS)
          digits = "1" * (@next.to_i - offset).clamp(0, limit)
          places = @open.each_key.map { |open| open - offset }
          places.each { |place| digits.setbyte(place, ZERO) if place.between?(0, digits.size - 1) }
          digits
        end

        # Exact to within the messages of one read.
        def ahead
          lowest = @open.each_value.first
          lowest ? @read - lowest.before : 0
        end

        def inspect
          "#<Skep::Kafka::Processing::KeyOffsetTracker #{position} ahead=#{ahead} bytes=#{bytes}>"
        end

        private

        def leave(group)
          @bytes -= group.bytes if (group.left -= 1).zero?
        end
      end
    end
  end
end
