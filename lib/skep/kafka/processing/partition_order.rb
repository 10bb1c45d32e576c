# frozen_string_literal: true

# Keeps a partition's messages in order, one batch after the other: decides which of them may be
# processed now. Not thread-safe.
#
#   order = PartitionOrder.new(limit: 500)
#   order.room                       # => 500, how many more may be read now
#   messages = order.unpack(message_set)
#   order.put(messages, order.keys(messages), bytes: message_set.bytes)
#   messages, keys = order.take      # for a work item; nil while another one is in flight
#   order.done(batch, 41)            # the batch's messages up to that offset are done
#   order.release(item)              # the work item isn't in flight any more
#
# KeyOrder orders messages by key.
module Skep
  module Kafka
    module Processing
      class PartitionOrder
        attr_reader :position #: Integer?, the offset after the last message done

        def initialize(limit:) #: (limit: Integer) -> void
          @limit = limit
        end

        def room = @in_flight || @message_set ? 0 : @limit #: () -> Integer
        def any? = !@in_flight && !@message_set.nil? #: () -> bool, true if take returns messages
        def held? = false #: () -> bool, true if unfinished messages prevent reading others
        def clear? = !@in_flight && @message_set.nil? #: () -> bool, true if nothing is unfinished
        def unpack(message_set) = message_set #: (Librdkafka::MessageSet) -> Librdkafka::MessageSet
        def needs_keys? = false #: () -> bool
        def keys(_message_set) = nil #: (Librdkafka::MessageSet) -> nil
        #: (Librdkafka::MessageSet, nil, **Integer) -> void
        def put(message_set, _keys, **) = @message_set = message_set

        def take #: () -> [Librdkafka::MessageSet, nil]?
          return unless any?

          @in_flight = true
          message_set, @message_set = @message_set, nil
          [message_set, nil]
        end

        # For a work item without messages: nothing is taken before its release.
        def take_nothing = @in_flight = true #: () -> void

        #: (Batch, Integer, **untyped) -> void
        def done(_batch, offset, **) = @position = offset + 1

        # There are no messages before that offset which aren't done.
        def skip_to(offset) = @position = [@position, offset].compact.max #: (Integer) -> void

        def release(_item) = @in_flight = false #: (WorkItem) -> void

        # Nothing waits beside a work item.
        def take_until(_offset, _item) = nil #: (Integer, WorkItem) -> void
        def unfinished(_before) = nil #: (Integer) -> Integer?

        def inspect = "#<Skep::Kafka::Processing::PartitionOrder #{position}>" #: () -> String
      end
    end
  end
end
