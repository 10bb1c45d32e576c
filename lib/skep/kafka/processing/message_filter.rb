# frozen_string_literal: true

# What of a batch the handler is given: all of it, or what the source's `filter:` is true for. A
# filter that raises is like a handler that raises: the message it was asked about was in hand.
#
#   sieve = MessageFilter.new(options)
#   sieve.sift(strand, batch)     # => the batch, or one of fewer messages, perhaps of none
module Skep
  module Kafka
    module Processing
      class MessageFilter
        def initialize(options) #: (Config::SourceOptions) -> void
          @filter = options.filter
          @key_of = options.key_of if options.ordered_by.respond_to?(:call)
        end

        #: (WorkItem, Batch) -> Batch
        def sift(strand, batch)
          ask_for_keys(strand, batch) if @key_of
          return batch unless @filter

          kept = batch.select { |message| @filter.call(message) }
          kept.size == batch.size ? batch : batch.__of(kept)
        end

        private

        # Of messages that have none: where it raises, it does so now, with the message in hand.
        def ask_for_keys(strand, batch)
          return unless strand.keys.each_value.any?(Message)

          batch.each { |message|
 @key_of.call(message) if strand.keys[message.offset].is_a?(Message) }
        end
      end
    end
  end
end
