# frozen_string_literal: true

# What of a batch the handler is given: all of it, or what the source's `filter:` is true for. A
# filter that raises is like a handler that raises: the message it was asked about was in hand.
#
#   message_filter = MessageFilter.new(options)
#   message_filter.sift(item, batch)     # => the batch, or one of fewer messages, perhaps of none
module Skep
  module Kafka
    module Processing
      class MessageFilter
        def initialize(options) #: (Config::SourceOptions) -> void
          @filter = options.filter
          @key_of = options.key_of if options.ordered_by.respond_to?(:call)
        end

        #: (WorkItem, Batch) -> Batch
        def sift(item, batch)
          ask_for_keys(item, batch) if @key_of
          return batch unless @filter

          kept = batch.select { |message| @filter.call(message) }
          kept.size == batch.size ? batch : batch.__of(kept)
        end

        private

        # Of messages that have none: where it raises, it does so now, with the message in hand.
        def ask_for_keys(item, batch)
          return unless item.keys.each_value.any?(Message)

          batch.each { |message|
 @key_of.call(message) if item.keys[message.offset].is_a?(Message) }
        end
      end
    end
  end
end
