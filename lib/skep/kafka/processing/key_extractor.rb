# frozen_string_literal: true

# Asks the user's callable for the keys of messages (`ordered_by:`). The status page shows each
# message while the callable has it, so a message that crashes its node there is found like one that
# crashes it in the handler.
#
#   key_extractor = KeyExtractor.new(options, node, poison, exclusive_lock)
#   key_extractor.call(batch)              # => the keys, one for each message
#   key_extractor.raise_again(item, batch) # raises what the callable raised
#
# The callable gets a suspected message while nothing else runs in the node, and a poison message
# not at all.
module Skep
  module Kafka
    module Processing
      class KeyExtractor
        def initialize(options, node, poison, exclusive_lock)
          @key_of = options.key_of
          @node, @poison, @lock = node, poison, exclusive_lock
        end

        # The key of a message without one, or for which the callable raises, is the message itself.
        def call(batch)
          parts(batch).flat_map { |part| keys(part) }
        end

        # Calls the callable again for messages that are their own keys: an exception counts as one
        # of the handler then.
        def raise_again(item, batch)
          return unless item.keys.each_value.any?(Message)

          batch.each do |message|
            @key_of.call(message) if item.keys[message.offset].is_a?(Message)
          end
        end

        def inspect
          "#<Skep::Kafka::Processing::KeyExtractor for #{@node.inspect}>"
        end

        private

        def parts(batch)
          ranges = @poison.any? ? @poison.ranges(batch) : []
          return [batch] if ranges.empty?

          batch.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        end

        def keys(batch)
          return batch.messages if @poison.poison?(batch)
          return extract(batch) unless @poison.alone?(batch)

          @lock.synchronize(exclusive: true) { extract(batch) } || batch.messages
        end

        def extract(batch)
          @node.in_flight(batch.label)
          batch.__attach(@node)
          keys = []
          batch.each { |message| keys << key_of(message) }
          @node.in_flight(nil)
          keys
        end

        def key_of(message)
          key = @key_of.call(message)
          key.nil? ? message : key
        rescue UserError # see raise_again
          message
        end
      end
    end
  end
end
