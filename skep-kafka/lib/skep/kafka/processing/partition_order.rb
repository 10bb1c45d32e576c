# frozen_string_literal: true

# Keeps a partition's messages in order, one batch after the other: decides which of them may
# be processed now. Not thread-safe.
#
#   order = PartitionOrder.new(limit: 500)
#   order.room                       # => 500, how many more may be read now
#   order.put(messages, keys, bytes) # keys: nil, but by key
#   messages, keys = order.take      # for a work item; nil while another one is in flight
#   order.release(item)              # the work item isn't in flight any more
#
# KeyOrder orders messages by key.
module Skep
  module Kafka
    module Processing
      class PartitionOrder
        def initialize(limit:)
          @limit = limit
        end

        def room = clear? ? @limit : 0
        def any? = !@in_flight && !@message_set.nil? # true if take returns messages
        def blocked? = false # true if unfinished messages prevent reading others
        def clear? = !@in_flight && @message_set.nil? # true if nothing is unfinished
        def put(message_set, _keys, _bytes) = @message_set = message_set

        def take
          return unless any?

          @in_flight = true
          message_set, @message_set = @message_set, nil
          [message_set, nil]
        end

        # For a work item without messages: nothing is taken before its release.
        def take_nothing = @in_flight = true

        def release(_item) = @in_flight = false
        def take_until(_offset, _item, **) = nil # nothing waits beside a work item

        def inspect = "#<Skep::Kafka::Processing::PartitionOrder limit=#{@limit}>"
      end
    end
  end
end
