# frozen_string_literal: true

# Messages of one partition that are tried together, in order. What the handler gets of them is a
# Batch (Attempt#batch).
#
#   slice = Slice.new("orders", 3, messages)
#   slice.after(41); slice.part { |message| … }   # the messages of it after that offset; nil: none
#   slice.split                                   # slices of one message each
#   slice.label                                   # => "orders/3/40-42"
module Skep
  module Kafka
    module Processing
      class Slice
        attr_reader :topic # the topic's name
        attr_reader :partition # the partition's number
        attr_reader :message_set

        def initialize(topic, partition, messages)
          @topic, @partition = topic, partition
          @message_set = Librdkafka::MessageSet.of(messages)
        end

        def messages = @messages ||= @message_set.to_a.freeze
        def size = @message_set.size
        def first_offset = @message_set.first_offset
        def last_offset = @message_set.last_offset

        # How many messages there are up to that offset. (By key, offsets are left out.)
        def count_to(offset)
          offset = offset.clamp(first_offset - 1, last_offset)
          return offset - first_offset + 1 if last_offset - first_offset < size

          messages.bsearch_index { |message| message.offset > offset } || size
        end

        # The first messages, so many at most.
        def first(count) = @message_set.first(count)

        # The messages after that offset; nil if there are none.
        def after(offset) = part { |message| message.offset > offset }

        # The messages for which the block is true; nil if there are none.
        def part(&)
          some = messages.select(&)
          with(some) if some.any?
        end

        def with(some) = Slice.new(topic, partition, some)
        def split = messages.map { |message| with([message]) }

        # The same messages in slices: messages for which the block is true have one each.
        def isolate
          pieces = messages.chunk { |message| yield(message) ? :_alone : :together }
          pieces.map { |_, some| with(some) }
        end

        # For another try: undoes changes that a handler has made to the messages' strings.
        def reset_strings = messages.each(&:__reset_strings)

        # "topic/partition/first-last", as the scoreboard and the log show it.
        def label = "#{topic}/#{partition}/#{first_offset}-#{last_offset}"

        # The same for events.
        def place = { topic:, partition:, offset: first_offset, last_offset: }

        def inspect = "#<Skep::Kafka::Processing::Slice #{label} size=#{size}>"
      end
    end
  end
end
