# frozen_string_literal: true

# Counts the failures of a batch, and of the message in it that failed. Pure.
#
#   failures = Failures.new
#   failures.add(41)     # the handler raised at offset 41; nil: it isn't known where
#   failures.count       # => 1, failures of the batch
#   failures.number      # => 1, failures in a row of that message
#
# A batch of many messages may fail at another message each time: `count` decides when its messages
# are tried one by one, `number` is what events report and what the backoff goes by.
module Skep
  module Kafka
    class Failures
      attr_reader :count #: Integer, of the batch
      attr_reader :number #: Integer, in a row of the message that failed last

      def initialize = @count = @number = 0

      def add(offset) #: (Integer?) -> void
        @count += 1
        @number = offset == @offset ? @number + 1 : 1
        @offset = offset
      end

      def inspect = "#<Skep::Kafka::Failures count=#{count} number=#{number}>" #: () -> String
    end
    private_constant :Failures
  end
end
