# frozen_string_literal: true

# How far a partition is done when its messages are done in any order: up to the lowest that isn't.
# Pure.
#
#   progress = OffsetTracker.new
#   progress.open([10, 11, 14], bytes: 300)   # read, together; between 11 and 14 there is nothing
#   progress.done(11)
#   progress.position    # => 10, what may be committed: all before it is done
#   progress.ahead       # => 3, messages from the lowest unfinished one to the last that was read
#   progress.bytes       # => 300, held in memory: a message holds all that it was read with
module Skep
  module Kafka
    module Processing
      class OffsetTracker
        # Messages read together: how many came before them, how many of them are unfinished.
        Haulage = Struct.new(:before, :left, :bytes)
        private_constant :Haulage

        attr_reader :bytes #: Integer

        def initialize
          @open = {} # offset => its Haulage, in order
          @left = {} # offset => true
          @read = @bytes = 0
        end

        def open(offsets, bytes:) #: (Array[Integer], bytes: Integer) -> void
          return if offsets.empty?

          haulage = Haulage.new(@read, offsets.size, bytes)
          offsets.each { |offset| @open[offset] = haulage }
          @read += offsets.size
          @bytes += bytes
          @next = offsets.last + 1
        end

        # One that isn't open is done already.
        def done(offset) #: (Integer) -> void
          haulage = @open.delete(offset) or return
          @moved = true
          @bytes -= haulage.bytes if (haulage.left -= 1).zero?
        end

        # Those aren't waited for, though they aren't done.
        def leave(offsets) #: (Array[Integer]) -> void
          offsets.each { |offset| @left[offset] = true }
        end

        # The lowest before that offset that is unfinished, and was not left.
        def unfinished(before) #: (Integer) -> Integer?
          @open.each_key.take_while { |offset|
 offset < before }.find { |offset| !@left.key?(offset) }
        end

        # The offset of the lowest that is unfinished, or the one after the last; nil before
        # anything is done.
        def position = @moved ? @open.each_key.first || @next : nil #: () -> Integer?

        # Before that offset there is nothing more than was opened by now, or all of it is done.
        def reach(offset) #: (Integer) -> void
          @next = [@next, offset].compact.max
          @moved = true if clear?
        end

        def clear? = @open.empty? #: () -> bool, is nothing unfinished?

        # To within those it was read with.
        def ahead #: () -> Integer
          lowest = @open.each_value.first
          lowest ? @read - lowest.before : 0
        end

        def inspect
          "#<Skep::Kafka::Processing::OffsetTracker #{position} ahead=#{ahead} bytes=#{bytes}>"
        end
      end
    end
  end
end
