# frozen_string_literal: true

# librdkafka's transaction calls on one producer, each repeated until it is through: what an answer
# that didn't come means is told as an error.
#
#   transactor = TransactionCalls.new(producer, child)
#   transactor.init                        # once; whoever had this transactional.id is fenced off
#   transactor.begin
#   transactor.send_offsets(list, metadata)
#   transactor.commit                      # or abort
#
# Raises TransactionFailed. None of them holds up the process' other threads. At a stop they give up
# after some seconds, an abort after one: the successor's `init` ends what was begun then, or the
# broker's clock does.
module Skep
  module Kafka
    class Producer
      class TransactionCalls
        TURN_MS = 1_000 # between two looks whether to stop
        LONGEST = 90.0 # seconds; librdkafka often looks only at socket.timeout.ms, 60 s
        STOP_SECONDS = 10.0
        private_constant :TURN_MS, :LONGEST, :STOP_SECONDS

        def initialize(producer, child) #: (Producer, Child) -> void
          @handle = producer.__client.handle
          @child = child
        end

        # The block is called with each error after which it tries again; what it gives doesn't
        # count.
        def init(&) #: () { (TransactionFailed) -> void } -> void
          call("init_transactions", again: ->(error) { yield error }) do
            Librdkafka::Bindings.init_transactions(@handle, TURN_MS)
          end
        end

        def begin
          call("begin_transaction") { Librdkafka::Bindings.begin_transaction(@handle) }
        end #: () -> void

        def send_offsets(list, metadata) #: (Librdkafka::TopicPartitionList, FFI::Pointer) -> void
          call("send_offsets_to_transaction") do
            Librdkafka::Bindings.send_offsets_to_transaction(@handle, list.pointer, metadata,
                                                             TURN_MS)
          end
        end

        def commit #: () -> void
          call("commit_transaction") { Librdkafka::Bindings.commit_transaction(@handle, TURN_MS) }
        end

        def abort #: () -> void
          call("abort_transaction", patience: 0) { Librdkafka::Bindings.abort_transaction(@handle, TURN_MS) }
        end

        private

        # patience: seconds of trying again at a stop.
        def call(name, again: nil, patience: STOP_SECONDS)
          Kernel.loop do
            error = @child.busy(for: LONGEST) { yield }
            return if error.null?

            failure = failed(name, error)
            raise failure unless failure.retriable? && !late?(patience)

            again&.call(failure)
          end
        end

        # Also destroys librdkafka's error object.
        def failed(step, error)
          bindings = Librdkafka::Bindings
          TransactionFailed.new(step:, code: bindings.error_code(error),
                                text: bindings.error_string(error),
                                retriable: !bindings.error_is_retriable(error).zero?,
                                fatal: !bindings.error_is_fatal(error).zero?)
        ensure
          bindings.error_destroy(error)
        end

        def late?(patience)
          return false unless @child.stopping?

          @stopping_since ||= OS.now
          OS.now - @stopping_since >= [patience, (@child.time_left || 0) / 3].min
        end
      end
    end
  end
end
