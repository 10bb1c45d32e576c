# frozen_string_literal: true

# What is done of a partition: all messages before the position, and by key others beyond it. It
# also knows what the last owner's commit says of the messages from its offset on: which are done,
# and which have failed alone. The metadata of commits passes both on. Not thread-safe.
#
#   offsets = DoneOffsets.new(reader, origin:)
#   offsets.restore(metadata)   # a CommitMetadata of the last owner
#   offsets.move_to(11)         # in order: all messages before that offset are done
#   offsets.position            # => 11, to commit
#   offsets.metadata(11)        # to commit with that offset; nil: there is nothing to say
#   offsets.failures            # => { 43 => a FailureCount }
#
# By key, where messages are done in any order, the position is the lowest unfinished offset:
#
#   messages = offsets.without_done(messages)   # those that the last owner hasn't done
#   offsets.open([10, 11, 14], bytes: 300)   # read in one go; 12 and 13 are no messages
#   offsets.done(slice, 11)     # the slice's messages up to that offset are done
#   offsets.done_from(10)       # => "01110", for each offset: 11 is done, 12 is no message
#   offsets.done_beyond         # => 3, offsets behind 10 that are done or no messages
#   offsets.ahead               # => 3, messages from the lowest unfinished one to the last one read
#   offsets.bytes               # => 300, in memory: the messages of one read are freed together
#   offsets.copied(10, bytes: 100)   # except one of which its owner keeps a copy instead
#
# It commits nothing: when the position is committed, and with it what is done beyond, is
# listed above Completion (completion.rb).
module Skep
  module Kafka
    module Processing
      class DoneOffsets
        # Messages read in one go. before: how many messages were read before them; left: how many
        # of them are unfinished, without those that are copied: each is a group of its own.
        ReadGroup = Struct.new(:before, :left, :bytes, :copy)
        ZERO = "0".ord
        private_constant :ReadGroup, :ZERO

        attr_reader :bytes
        attr_reader :failures # of messages that have failed alone, by offset

        # start: the position before anything is done, if it is known.
        def initialize(reader, origin: nil, start: nil)
          @reader, @origin, @start = reader, origin, start
          @open = {} # by key, unfinished messages: offset => ReadGroup, in order
          @ignored = {} # offset => true
          @read = @bytes = 0
          @failures = {}
          @committed = 0 # by the last owner
        end

        # done: false if messages are processed again that the last owner has done beyond its
        # offset.
        def restore(metadata, done: true)
          @former = metadata if done
          @committed, @failures = metadata.offset, metadata.failures.dup
        end

        # The most messages to read at once, `most` or fewer. A read knows only the leader epoch of
        # its last message: it ends where `done` of the last owner does, as later messages may have
        # a higher one.
        def room(offset, most)
          left = offset && @former ? @former.left(offset) : 0
          left.positive? ? [left, most].min : most
        end

        # Returns the messages that the last owner hasn't done. The others count for `ahead`.
        def without_done(messages)
          former = @former or return messages
          return messages.tap { @former = nil } unless former.about?(messages.first.offset, highest)

          left = messages.reject { |message| former.done?(message.offset) }
          @read += messages.size - left.size
          left
        end

        # What has failed alone gets slices of its own. If reading has begun before the committed
        # offset, it is another log: its messages haven't failed.
        def isolate(slices)
          return slices if @failures.empty? || slices.empty?

          forget_failures if slices.first.first_offset < @committed
          slices.flat_map do |slice|
            slice.isolate { |message| @failures.key?(message.offset) }
          end
        end

        # The item is to be tried again. Returns false unless its slice is one message that has
        # failed.
        def failed(item)
          return false unless item.failed_alone?

          @failures[item.slice.first_offset] = item.failures
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

        # after: the offset up to which the slice was done before. Returns the offsets that are done
        # now.
        def done(slice, offset, after: nil)
          done = slice.messages[(after ? slice.count_to(after) : 0)...slice.count_to(offset)]
          done.map(&:offset).each { |one| finish(one) }
        end

        # In order: a lower offset than before is one of a truncated log.
        def move_to(offset)
          @next = offset
          @moved = true
        end

        # After the messages opened so far there are no others before that offset.
        def skip_to(offset)
          @next = [@next, offset].compact.max
          @moved = true if clear?
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

        # The lowest unfinished offset, or the one after the last message; `start` before anything
        # is done.
        def position = @moved ? lowest || @next : @start

        # How many offsets behind the lowest unfinished one, up to the last message read, are done
        # or no messages.
        def done_beyond = clear? ? 0 : @next - lowest - @open.size

        def clear? = @open.empty? # true if nothing is unfinished

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

        def metadata(offset)
          done = done_from(offset)
          from = [@next, offset].compact.max
          former = @former # which the thread that reads may drop meanwhile
          done += former.done_from(from) if former&.about?(from, highest)
          @failures.select! { |at, _| @open.key?(at) || at >= @next.to_i }
          CommitMetadata.write(offset, done:, failures: @failures, epoch: highest, origin: @origin)
        end

        # The same without what is done and has failed, which takes less time.
        def label(offset) = @origin && CommitMetadata.label(offset, highest, @origin)

        def inspect
          "#<Skep::Kafka::Processing::DoneOffsets #{position} ahead=#{ahead} bytes=#{bytes}>"
        end

        private

        def highest = @reader.epochs.highest

        # The lowest unfinished offset. (An enumerator costs more: in order, nothing is ever open.)
        def lowest = clear? ? nil : @open.each_key.first

        def forget_failures
          @committed = 0
          @failures.clear
        end

        # Does nothing for a message that is done already.
        def finish(offset)
          group = @open.delete(offset) or return
          @moved = true
          leave(group)
        end

        def leave(group)
          @bytes -= group.bytes if (group.left -= 1).zero?
        end
      end
    end
  end
end
