# frozen_string_literal: true

# The order of a partition's messages, one batch after the other: which of them may be worked on
# now. For one thread at a time.
#
#   order = PartitionOrder.new(limit: 500)
#   order.room                       # => 500, how many more may be read now
#   messages = order.unpack(message_set)
#   order.put(messages, order.keys(messages), bytes: message_set.bytes)
#   messages, keys = order.take      # a work item's; nil while others are out
#   order.done(batch, 41)            # of those the ones up to that offset are done
#   order.release(item)            # they aren't out any more
#
# KeyOrder is the other order, by keys.
module Skep
  module Kafka
    module Processing
      class PartitionOrder
        attr_reader :position #: Integer?, the offset after the last message done

        def initialize(limit:) #: (limit: Integer) -> void
          @limit = limit
        end

        def room = @out || @message_set ? 0 : @limit #: () -> Integer
        def any? = !@out && !@message_set.nil? #: () -> bool, would a take give something?
        def held? = false #: () -> bool, does what is unfinished keep others from being read?
        def clear? = !@out && @message_set.nil? #: () -> bool, is nothing unfinished?
        def unpack(message_set) = message_set #: (Librdkafka::MessageSet) -> Librdkafka::MessageSet
        def needs_keys? = false #: () -> bool
        def keys(_message_set) = nil #: (Librdkafka::MessageSet) -> nil
        #: (Librdkafka::MessageSet, nil, **Integer) -> void
        def put(message_set, _keys, **) = @message_set = message_set

        def take #: () -> [Librdkafka::MessageSet, nil]?
          return unless any?

          @out = true
          message_set, @message_set = @message_set, nil
          [message_set, nil]
        end

        # Nothing is, and nobody else gets anything before it is released.
        def take_nothing = @out = true #: () -> void

        #: (Batch, Integer, **untyped) -> void
        def done(_batch, offset, **) = @position = offset + 1

        # All before that is done: there is nothing more up to there.
        def reach(offset) = @position = [@position, offset].compact.max #: (Integer) -> void

        def release(_strand) = @out = false #: (WorkItem) -> void

        # Nothing waits beside a strand.
        def give_out_until(_offset, _strand) = nil #: (Integer, WorkItem) -> void
        def unfinished(_before) = nil #: (Integer) -> Integer?

        def inspect = "#<Skep::Kafka::Processing::PartitionOrder #{position}>" #: () -> String
      end
    end
  end
end
