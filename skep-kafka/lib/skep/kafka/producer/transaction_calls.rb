# frozen_string_literal: true

# librdkafka's transaction calls on one producer. Each is repeated while its error is
# retriable.
#
#   calls = TransactionCalls.new(producer, consumer, node)
#   calls.init_transactions  # once; fences older producers with this transactional.id
#   calls.begin_transaction
#   calls.send_offsets(list, metadata)
#   calls.commit_transaction             # or abort_transaction
#   calls.committed?(partition, 41)  # true if a commit without an answer has succeeded
#
# They raise TransactionFailed. None of them blocks the other threads of the process. While
# the node stops they give up after some seconds, an abort after its first try: the next
# producer with this transactional.id ends the transaction then, or the broker does after
# transaction.timeout.ms.
module Skep
  module Kafka
    class Producer
      class TransactionCalls
        TRY_MS = 1_000 # of one call; then it checks whether the node is stopping
        LONGEST = 90.0 # seconds; librdkafka may return only after socket.timeout.ms, 60 s
        STOP_SECONDS = 10.0
        QUERY_SECONDS = 10.0 # that one query of the committed offset may take
        QUERY_PAUSE = 0.5 # seconds, after an error
        private_constant :TRY_MS, :LONGEST, :STOP_SECONDS, :QUERY_SECONDS, :QUERY_PAUSE

        def initialize(producer, consumer, node)
          @handle = producer.__client.handle
          @consumer = consumer
          @node = node
          @pause = Threads::Inbox.new # stays empty: a timed wait
        end

        # Yields each error after which it tries again. waiting: who calls, see
        # TransactionalProducer.
        def init_transactions(waiting: @node, &on_retry)
          call("init_transactions", waiting:, on_retry:) do
            Librdkafka::Bindings.init_transactions(@handle, TRY_MS)
          end
        end

        def begin_transaction
          call("begin_transaction") { Librdkafka::Bindings.begin_transaction(@handle) }
        end

        # metadata: librdkafka's, of the consumer's group.
        def send_offsets(list, metadata)
          call("send_offsets_to_transaction") do
            Librdkafka::Bindings.send_offsets_to_transaction(@handle, list.pointer, metadata,
                                                             TRY_MS)
          end
        end

        def commit_transaction
          call("commit_transaction") { Librdkafka::Bindings.commit_transaction(@handle, TRY_MS) }
        end

        def abort_transaction
          call("abort_transaction", stop_seconds: 0) do
            Librdkafka::Bindings.abort_transaction(@handle, TRY_MS)
          end
        end

        # Returns true if the group's committed offset is beyond `offset`, whichever process
        # committed it. The brokers answer once no transaction on the partition is open; it asks
        # until they do, since a batch that was committed and is processed again has its output
        # twice. Returns false without an answer if the node stops or has lost the partition:
        # nothing is processed again here then.
        def committed?(partition, offset)
          Kernel.loop do
            committed = @node.busy(for: QUERY_SECONDS) { committed_offset(partition.key) }
            return committed > offset if committed
            return false if @node.stopping? || partition.revocation == :finished || @consumer.fatal

            @pause.pop(timeout: QUERY_PAUSE)
          end
        end

        private

        # stop_seconds: how long it repeats the call once the node is stopping.
        def call(name, waiting: @node, on_retry: nil, stop_seconds: STOP_SECONDS)
          Kernel.loop do
            error = waiting.busy(for: LONGEST) { yield }
            return if error.null?

            failure = failure(name, error)
            raise failure unless failure.retriable? && !too_late?(stop_seconds)

            on_retry&.call(failure)
          end
        end

        # Also destroys librdkafka's error object.
        def failure(step, error)
          bindings = Librdkafka::Bindings
          TransactionFailed.new(step:, code: bindings.error_code(error),
                                text: bindings.error_string(error),
                                retriable: !bindings.error_is_retriable(error).zero?,
                                fatal: !bindings.error_is_fatal(error).zero?)
        ensure
          bindings.error_destroy(error)
        end

        def too_late?(stop_seconds)
          return false unless @node.stopping?

          @stopping_since ||= OS.now
          OS.now - @stopping_since >= [stop_seconds, (@node.time_left || 0) / 3].min
        end

        # Returns the committed offset, negative if there is none, or nil without an answer.
        def committed_offset(key)
          Librdkafka::TopicPartitionList.make([[*key, nil]]) do |list|
            next unless Librdkafka::Bindings.committed(@consumer.handle, list.pointer,
                                                       TRY_MS).zero?

            _, _, offset, code = list.to_a.first
            offset if code.zero?
          end
        end
      end
    end
  end
end
