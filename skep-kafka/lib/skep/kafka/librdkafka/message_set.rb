# frozen_string_literal: true

# The messages of one read of a partition. The C extension makes a compact subclass (Packed),
# which makes strings on first use; this one is over Message objects.
#
#   message_set = MessageSet.new([message, message])
#   message_set.each { |message| … }
#   message_set.tracked = 1
#   message_set.each_tracked(node, 1) { |message| … }; message_set.last_yielded_offset
#   message_set.end_early                 # each_tracked ends after the current message
#   message_set.size; message_set.first_offset; message_set.last_offset; message_set.payloads
module Skep
  module Kafka
    module Librdkafka
      class MessageSet
        include Enumerable

        # Returns the messages as a message set, which they may already be.
        def self.of(messages) = messages.is_a?(MessageSet) ? messages : new(messages.to_a)

        # Returns several message sets as one.
        def self.join(message_sets)
          message_sets.one? ? message_sets.first : new(message_sets.flat_map(&:to_a))
        end

        def initialize(messages) = @messages = messages

        def each(&block)
          return enum_for(:each) { size } unless block

          @messages.each(&block)
          self
        end

        # Like `each`, but reports each message to the node first (`current_item`), so that the
        # supervisor knows which message was being processed if the node dies. Only the loop whose
        # number is `tracked` does that; any other loop only beats.
        #
        # With an ownership the loop ends early when the partition is revoked, or when the group
        # doesn't confirm after a long pause that it is still this member's. It returns nil, or the
        # offset of the last message yielded if it has ended early (-1: none). The first message is
        # yielded unless the partition is lost, since handlers rely on it.
        def each_tracked(node, number, ownership = nil)
          last = -1
          at = now
          each do |message|
            at, before = now, at
            return last if ownership && ended?(ownership, at - before, last.negative?)

            if tracked == number then node.current_item(@last_yielded_offset = message.offset)
            else node.beat
            end
            last = message.offset
            yield message
          end
          nil
        end

        # at_once: even before the first message.
        def end_early(at_once = false)
          @ended = at_once ? :at_once : true
        end

        attr_accessor :tracked # the number of the tracked loop
        attr_reader :last_yielded_offset # by the tracked loop

        def size = @messages.size
        def first_offset = @messages.first&.offset
        def last_offset = @messages.last&.offset
        def payloads = @messages.map(&:payload)

        # Returns about how much memory it holds.
        def bytes
          @messages.sum do |message|
            (message.payload&.bytesize || 0) + (message.key&.bytesize || 0)
          end
        end

        def empty? = size.zero?
        def inspect = "#<Skep::Kafka::Librdkafka::MessageSet size=#{size}>"

        private

        def now = (OS.now_with_suspends * 1e9).to_i

        def ended?(ownership, pause, first)
          return true if pause > ownership.limit && !ownership.confirmed?

          first ? @ended == :at_once : @ended
        end
      end
    end
  end
end
