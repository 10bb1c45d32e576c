# frozen_string_literal: true

# Asks the user's callable for messages' keys (`ordered_by:`), each of them in hand as it is asked
# about: one that ends its node there is found as one that ends it in the handler.
#
#   key_extractor = KeyExtractor.new(options, child, poison, exclusive_lock)
#   key_extractor.call(batch)      # => its messages' keys; a message that has none is its own
#
# What is suspected is asked about with nothing else at work in its node, and what is guilty isn't.
module Skep
  module Kafka
    module Processing
      class KeyExtractor
        #: (Config::SourceOptions, Child | Lane, Failure::PoisonDetector, SharedExclusiveLock)
        #:   -> void
        def initialize(options, child, poison, exclusive_lock)
          @key_of = options.key_of
          @child, @poison, @exclusive_lock = child, poison, exclusive_lock
        end

        def call(batch) #: (Batch) -> Array[untyped]
          parts(batch).flat_map { |part| keys(part) }
        end

        def inspect
          "#<Skep::Kafka::Processing::KeyExtractor for #{@child.inspect}>"
        end #: () -> String

        private

        def parts(batch)
          ranges = @poison.any? ? @poison.ranges(batch) : []
          return [batch] if ranges.empty?

          batch.isolate { |message| ranges.any? { |range| range.cover?(message.offset) } }
        end

        def keys(batch)
          return batch.messages if @poison.guilty?(batch)
          return ask(batch) unless @poison.alone?(batch)

          @exclusive_lock.pass(alone: true) { ask(batch) } || batch.messages
        end

        # Where it raises there is no key, and the error of that comes again when the message is
        # given to the handler (MessageFilter).
        def ask(batch)
          @child.in_hand(batch.label)
          batch.__given_to(@child)
          keys = []
          batch.each { |message| keys << key_of(message) }
          @child.in_hand(nil)
          keys
        end

        def key_of(message)
          key = @key_of.call(message)
          key.nil? ? message : key
        rescue StandardError, ScriptError # the user's
          message
        end
      end
    end
  end
end
