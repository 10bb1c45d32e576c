# frozen_string_literal: true

# Asks the user's callable for the keys of messages (`ordered_by:`). The scoreboard shows each
# message while the callable has it, so a message that crashes its node there is found like one that
# crashes it in the handler.
#
#   key_extractor = KeyExtractor.new(options, node, poison, exclusive_lock)
#   key_extractor.call(slice)              # => the keys, one for each message
#   key_extractor.raise_again(item, messages) # raises what the callable raised
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
        def call(slice)
          parts(slice).flat_map { |part| keys(part) }
        end

        # Calls the callable again for messages that are their own keys: an exception counts as one
        # of the handler then.
        def raise_again(item, messages)
          return unless item.keys.each_value.any?(Message)

          messages.each do |message|
            @key_of.call(message) if item.keys[message.offset].is_a?(Message)
          end
        end

        def inspect
          "#<Skep::Kafka::Processing::KeyExtractor for #{@node.inspect}>"
        end

        private

        def parts(slice)
          ranges = @poison.any? ? @poison.ranges(slice) : []
          return [slice] if ranges.empty?

          slice.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        end

        def keys(slice)
          return slice.messages if @poison.poison?(slice)
          return extract(slice) unless @poison.alone?(slice)

          @lock.synchronize(exclusive: true) { extract(slice) } || slice.messages
        end

        def extract(slice)
          @node.in_flight(slice.label)
          keys = []
          Attempt.new(slice, @node).each { |message| keys << key_of(message) }
          @node.in_flight(nil)
          keys
        end

        def key_of(message)
          key = UserCode.call { @key_of.call(message) }
          key.nil? ? message : key
        rescue UserError # see raise_again
          message
        end
      end
    end
  end
end
