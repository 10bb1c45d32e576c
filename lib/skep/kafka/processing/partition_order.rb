# frozen_string_literal: true

# Keeps a partition's messages in order, one batch after the other: decides which of them may
# be processed now. Not thread-safe.
#
#   order = PartitionOrder.new(limit: 500)
#   order.room                       # => 500, how many more may be read now
#   messages = order.unpack(message_set)
#   order.put(messages, order.keys(messages), bytes: message_set.bytes)
#   messages, keys = order.take      # for a work item; nil while another one is in flight
#   order.done(slice, 41)            # the slice's messages up to that offset are done; by key it
#                                    # returns their offsets
#   order.release(item)              # the work item isn't in flight any more
#
# KeyOrder orders messages by key.
module Skep
  module Kafka
    module Processing
      class PartitionOrder
        attr_reader :position # the offset after the last message done

        # Returns false if a message at that offset is done. Nothing beyond the position is.
        def unfinished?(offset) = offset >= position.to_i
        def done_from(_offset) = nil
        def done_beyond = 0

        def initialize(limit:)
          @limit = limit
        end

        def room = @in_flight || @message_set ? 0 : @limit
        def any? = !@in_flight && !@message_set.nil? # true if take returns messages
        def blocked? = false # true if unfinished messages prevent reading others
        def clear? = !@in_flight && @message_set.nil? # true if nothing is unfinished
        def unpack(message_set) = message_set
        def needs_keys? = false
        def keys(_message_set) = nil
        def put(message_set, _keys, **) = @message_set = message_set

        def take
          return unless any?

          @in_flight = true
          message_set, @message_set = @message_set, nil
          [message_set, nil]
        end

        # For a work item without messages: nothing is taken before its release.
        def take_nothing = @in_flight = true

        def done(_slice, offset, **)
          @position = offset + 1
          nil
        end

        # There are no messages before that offset which aren't done.
        def skip_to(offset) = @position = [@position, offset].compact.max

        def release(_item) = @in_flight = false
        def take_until(_offset, _item, **) = nil # nothing waits beside a work item
        def unfinished(_before) = nil

        def inspect = "#<Skep::Kafka::Processing::PartitionOrder #{position}>"
      end
    end
  end
end
