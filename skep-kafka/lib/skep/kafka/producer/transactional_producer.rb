# frozen_string_literal: true

# The `node.producer` of one thread of a transactional source: a producer of its own, with a
# transaction for each batch. The transaction contains what the handler produced and the offset of
# the batch, so that both are committed, or neither.
#
#   producer = TransactionalProducer.new(renewable_producer, node, consumer:, report:, options:,
#                                        id: "billing-host-3-1")
#   producer.init_transactions                     # fences the previous producer with this id
#   producer.begin_batch                           # the handler is called now
#   producer.produce("out", "payload")
#   producer.end_batch(partition, offset)          # commits; false if the partition was lost
#   producer.abort_batch                           # the handler raised
#
# The broker accepts the offset only from a member of the group's current generation (KIP-447): a
# node that has lost its partitions, and doesn't know it yet, can't commit.
module Skep
  module Kafka
    class Producer
      class TransactionalProducer < Producer::HandlerProducer
        REPORT_AFTER = 10.0 # seconds of init_transactions after which the wait is reported
        TIMEOUT_MS = 60_000 # librdkafka's default of transaction.timeout.ms
        CLOSE_SECONDS = 60 # that librdkafka may take to close a client
        SUFFIX = /-\h{8}\z/ # of an id that another process had taken
        TAKEN = "another process uses this transactional.id"
        # librdkafka only says that the call timed out.
        WAITS = "skep waits for the transaction coordinator. If the brokers are up, their log " \
                "says why there is none: with fewer brokers than " \
                "transaction.state.log.replication.factor (3) they can't create the topic of " \
                "transactions. Start more brokers, or lower that factor in their configuration"
        CHECK_NAMES = "Check that no two swarms on this host have the same name, or the same " \
                      "transactional option"
        private_constant :REPORT_AFTER, :TIMEOUT_MS, :CLOSE_SECONDS, :SUFFIX, :TAKEN,
                         :WAITS, :CHECK_NAMES

        def initialize(renewable_producer, node, consumer:, report:, options:, id:)
          super(renewable_producer, node, serializer: options.serializer)
          @id = id
          @consumer, @report, @options = consumer, report, options
          @limit = (options.producer["transaction.timeout.ms"] || TIMEOUT_MS).to_i / 1000.0
        end

        # Raises AuthorizationError if the broker refuses the transactional.id, and
        # TransactionFailed while the node stops. waiting: the node, or one of its threads, whose
        # thread calls this: waiting for a broker does not count as a hang.
        def init_transactions(waiting: @node)
          since = OS.now
          calls = TransactionCalls.new(@renewable_producer.producer, @consumer, @node)
          calls.init_transactions(waiting:) { |failure| report_wait(failure, since) }
          @calls = calls
        rescue TransactionFailed => e
          @renewable_producer.discard
          e.refused? ? raise(refusal(e)) : raise
        end

        def __produce(...)
          @in_transaction ? super : raise(NoTransaction)
        end

        def transactional? = true

        def begin_batch
          @committing = false
          init_transactions unless @calls
          @began_at = OS.now
          @calls.begin_transaction
          @in_transaction = true
          super
        rescue TransactionFailed => e
          raise batch_error(e)
        end

        # Commits the transaction, with the offset. Returns false if the partition was lost.
        def end_batch(partition, offset)
          raise @batch_error if @batch_error

          partition.enter_doubt # commit no offset outside of the transaction
          end_transaction(partition, offset)
        end

        def abort_batch
          @batch_error = nil
          return unless @in_transaction

          take_handles
          roll_back
        end

        def inspect
          "#<Skep::Kafka::Producer::TransactionalProducer #{@id}#{" open" if @in_transaction}>"
        end

        private

        def end_transaction(partition, offset)
          begin_batch unless @in_transaction
          committed = commit(partition, offset)
          committed ? take_handles : abort_batch
          committed
        rescue TransactionFailed => e
          @consumer.forgo_metadata_after(e.code)
          handles = take_handles
          roll_back unless e.fatal?
          error = batch_error(e, handles)
          committed_anyway?(handles, partition, offset) || raise(@batch_error = error)
        end

        def take_handles
          @in_transaction = false
          super
        end

        # Reads the group's generation before it looks at the partition: a partition that is still
        # assigned afterwards was assigned in that generation, for which the broker checks.
        def commit(partition, offset)
          metadata = Librdkafka::Bindings.consumer_group_metadata(@consumer.handle)
          return false if partition.revocation == :finished

          entry = partition.transaction_entry(offset + 1)
          entry = entry.first(4) if @consumer.without_metadata?
          Librdkafka::TopicPartitionList.make([entry]) do |list|
            @calls.send_offsets(list, metadata)
          end
          @committing = true
          @calls.commit_transaction
          true
        ensure
          Librdkafka::Bindings.consumer_group_metadata_destroy(metadata) if metadata
        end

        # Returns true if the broker has committed the transaction although its answer was lost. If
        # a message has failed, librdkafka hasn't sent the commit. init_transactions comes first: it
        # ends a transaction that is still open, so that the answer is final.
        def committed_anyway?(handles, partition, offset)
          return false if !@committing || handles.any?(&:error)

          init_transactions unless @calls
          @calls.committed?(partition, offset)
        rescue TransactionFailed # the node stops: the batch isn't processed again here
          false
        end

        # Aborts only what is acknowledged. librdkafka's abort drops messages in flight and gives
        # their sequence numbers to the next ones, which a broker that has received the first ones
        # drops as duplicates: then the client is replaced.
        def roll_back
          return unless @calls # the transaction wasn't begun

          all_acknowledged? ? @calls.abort_transaction : renew
        rescue TransactionFailed => e
          batch_error(e)
          discard # the next producer begins by ending this transaction
        end

        def all_acknowledged?
          producer = @renewable_producer.producer
          waiting_for_broker { producer.flush(SLICE) }.zero? && producer.failed.zero?
        end

        # Initializes the next producer at once: consumers of its topics wait for the end of this
        # transaction.
        def renew
          discard
          init_transactions
        rescue TransactionFailed, AuthorizationError # the next begin_batch meets and raises it
          @calls = nil
        end

        def discard
          @calls = nil
          @node.busy(for: CLOSE_SECONDS) { @renewable_producer.discard }
        end

        # Returns the error to raise for the batch.
        def batch_error(error, handles = [])
          discard if error.fatal?
          return fenced(error) if error.fenced?

          failed = handles.select { |handle| handle.error && !handle.error.passing? }
          failed.any? ? delivery_error(failed) : error
        end

        # Either the broker has aborted the transaction after its timeout, or another process uses
        # this transactional.id. Fencing that process in turn would never end; this producer takes
        # another id. The group's generation keeps a node without the partition from committing.
        def fenced(error)
          seconds = OS.now - @began_at
          timed_out = seconds >= @limit
          return TransactionTimedOut.new(seconds: seconds.round(1), limit: @limit) if timed_out

          taken, @id = @id, "#{@id.sub(SUFFIX, "")}-#{Random.bytes(4).unpack1("H*")}"
          discard
          @renewable_producer.rename(@id)
          @report.event(:kafka_transactional_id_taken, level: :warn, transactional_id: taken,
                                                      now: @id, error: TAKEN, hint: CHECK_NAMES)
          error
        end

        def report_wait(error, since)
          return if @wait_reported || OS.now - since < REPORT_AFTER

          @wait_reported = true
          @report.event(:kafka_transaction_waiting, level: :warn, transactional_id: @id,
                                                    error: @report.clean(error.text),
                                                    hint: WAITS)
        end

        def refusal(error)
          AuthorizationError.new(what: :transaction, name: @id, brokers: @options.settings.brokers,
                                 cause: @report.clean(error.text))
        end
      end
    end
  end
end
