# frozen_string_literal: true

# Messages of a partition that were read at once. The C makes a compact one of its own (Packed),
# where strings are made when they are asked for; this one is over messages that are there.
#
#   message_set = MessageSet.new([message, message])
#   message_set.each { |message| … }
#   message_set.tracked = 1
#   message_set.give_out(child, 1) { |message| … }; message_set.given
#   message_set.end_early                 # give_out with an ownership ends after the current message
#   message_set.size; message_set.first_offset; message_set.last_offset; message_set.payloads
module Skep
  module Kafka
    module Librdkafka
      class MessageSet
        include Enumerable

        # The messages as a message set, which they may be already.
        def self.of(messages) = messages.is_a?(MessageSet) ? messages : new(messages.to_a)

        # What several reads brought, as one.
        def self.join(message_sets)
          message_sets.one? ? message_sets.first : new(message_sets.flat_map(&:to_a))
        end

        def initialize(messages) = @messages = messages #: (Array[Message]) -> void

        def each(&block) #: () { (Message) -> void } -> untyped
          return enum_for(:each) { size } unless block

          @messages.each(&block)
          self
        end

        # Yields the messages. While this loop, of that number, is the tracked one, each of them is
        # reported to the child first (`at`); otherwise the child only beats. With an ownership the
        # loop ends early when the partition is revoked, or isn't confirmed after a long pause: it
        # returns the offset of the last message given out, -1 if there is none; otherwise nil. The
        # first message is given out unless the partition is lost: handlers rely on there being one.
        #: (Child, Integer, ?Processing::PartitionOwnership?) { (Message) -> void } -> Integer?
        def give_out(child, number, ownership = nil)
          last = -1
          at = now
          each do |message|
            at, before = now, at
            return last if ownership && over?(ownership, at - before, last.negative?)

            tracked == number ? child.at(@given = message.offset) : child.beat
            last = message.offset
            yield message
          end
          nil
        end

        # at_once: even before the first message.
        def end_early(at_once = false) #: (?bool) -> void
          @ended = at_once ? :at_once : true
        end

        attr_accessor :tracked #: Integer?, the number of the loop that is tracked
        attr_reader :given #: Integer?, the offset of the message that a tracked loop yielded last

        def size = @messages.size #: () -> Integer
        def first_offset = @messages.first&.offset #: () -> Integer?
        def last_offset = @messages.last&.offset #: () -> Integer?
        def payloads = @messages.map(&:payload) #: () -> Array[String?]

        # What it holds in memory, nearly.
        def bytes #: () -> Integer
          @messages.sum { |message|
 (message.payload&.bytesize || 0) + (message.key&.bytesize || 0) }
        end

        def empty? = size.zero? #: () -> bool
        def inspect = "#<Skep::Kafka::Librdkafka::MessageSet size=#{size}>" #: () -> String

        private

        def now = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)

        def over?(ownership, pause, first)
          return true if pause > ownership.limit && !ownership.confirmed?

          first ? @ended == :at_once : @ended
        end
      end
    end
  end
end
