# frozen_string_literal: true

# Whether a transaction was committed whose end nobody has answered for: the answer may have been
# lost, and another process have ended it. Then its offset is the group's.
#
#   doubt = TransactionOutcome.new(consumer, child)
#   doubt.through?(partition, 41)   # is it done up to there, whoever did it?
#
# The brokers answer once no transaction with that partition is open. It asks until they do: what
# was committed and is done again is there twice. Without an answer, at a stop or where the
# partition has gone, it is false: then nobody does it again here.
module Skep
  module Kafka
    class Producer
      class TransactionOutcome
        TURN_MS = 1_000 # between two looks whether to go on
        LONGEST = 10.0 # seconds that one may take
        PAUSE = 0.5 # seconds, after a refusal
        private_constant :TURN_MS, :LONGEST, :PAUSE

        def initialize(consumer, child) #: (Consumer, Child) -> void
          @consumer = consumer
          @child = child
          @rest = Threads::Inbox.new # into which nothing ever comes
        end

        def through?(partition, offset) #: (Processing::AssignedPartition, Integer) -> bool
          Kernel.loop do
            committed = @child.busy(for: LONGEST) { ask(partition.key) }
            return committed > offset if committed
            return false if @child.stopping? || partition.revoked == :lost || @consumer.fatal

            @rest.pop(timeout: PAUSE)
          end
        end

        private

        # What the group begins with there, less than 0 for nothing yet; nil: no answer.
        def ask(key)
          Librdkafka::TopicPartitionList.make([[*key, nil]]) do |list|
            next unless Librdkafka::Bindings.committed(@consumer.handle, list.pointer,
                                                       TURN_MS).zero?

            _, _, offset, code = list.to_a.first
            offset if code.zero?
          end
        end
      end
    end
  end
end
