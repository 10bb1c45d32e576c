# frozen_string_literal: true

# What `child.producer` is for one handler at a time of a transactional source: a producer of its
# own, and a transaction for each batch, which holds what the handler produced and the batch's
# offset. Both count, or neither.
#
#   transaction = TransactionalProducer.new(renewable_producer, child, id: "billing-host-3-1", options:, consumer:,
#                                          report:)
#   transaction.open                 # whoever had this id before can write no more
#   transaction.begin                # a handler is to be called
#   transaction.produce("out", "payload")
#   transaction.seal(partition, offset)  # commits; false where the partition went elsewhere
#   transaction.abort                    # the handler raised
#
# The broker takes the offset only from who is in the group's present generation: a node that has
# lost its partitions without knowing it can't commit (KIP-447).
module Skep
  module Kafka
    class Producer
      class TransactionalProducer < Producer::HandlerProducer
        TELL_AFTER = 10.0 # seconds that `open` may take without a word
        TIMEOUT_MS = 60_000 # librdkafka's transaction.timeout.ms unless set
        CLOSE_SECONDS = 60 # that librdkafka may take for a client's end
        private_constant :TELL_AFTER, :TIMEOUT_MS, :CLOSE_SECONDS

        #: (RenewableProducer, Child, id: String, options: Config::SourceOptions,
        #:   consumer: Consumer, report: Metrics::EventReporter) -> void
        def initialize(renewable_producer, child, id:, options:, consumer:, report:)
          super(renewable_producer, child)
          @id = id
          @doubt = TransactionOutcome.new(consumer, child)
          @consumer, @report, @options = consumer, report, options
          @limit = (@options.producer["transaction.timeout.ms"] || TIMEOUT_MS).to_i / 1000.0
        end

        # Raises AuthorizationError where the broker doesn't let us, TransactionFailed at a stop.
        def open #: () -> void
          since = OS.now
          transactor = TransactionCalls.new(@renewable_producer.producer, @child)
          transactor.init { |failure| tell_waiting(failure, since) }
          @transactor = transactor
        rescue TransactionFailed => e
          @renewable_producer.discard
          e.refused? ? raise(refused(e)) : raise
        end

        def produce(...) #: (String, String?, **untyped) -> DeliveryHandle
          @open ? super : raise(NoTransaction)
        end

        def atomic? = true #: () -> bool

        def begin #: () -> void
          @ending = false
          open unless @transactor
          @transactor.begin
          @began_at = OS.now
          @open = true
          super
        rescue TransactionFailed => e
          raise reason(e)
        end

        def seal(partition, offset) #: (Processing::AssignedPartition, Integer) -> bool
          raise @broken if @broken

          partition.in_doubt = true # what is committed beside it would count for more
          conclude(partition, offset)
        end

        def abort #: () -> void
          @broken = nil
          return unless @open

          finish
          roll_back
        end

        def inspect
          "#<Skep::Kafka::Producer::TransactionalProducer #{@id}#{" open" if @open}>"
        end #: () -> String

        private

        def conclude(partition, offset)
          self.begin unless @open
          committed = commit(partition, offset)
          committed ? finish : abort
          committed
        rescue TransactionFailed => e
          begun = finish
          roll_back unless e.fatal?
          error = reason(e, begun)
          through?(begun, partition, offset) || raise(@broken = error)
        end

        def finish
          @open = false
          take
        end

        # The generation is asked for before the look at the partition: was that one still ours
        # after it, then it is ours in that generation.
        def commit(partition, offset)
          metadata = Librdkafka::Bindings.consumer_group_metadata(@consumer.handle)
          return false if partition.revoked == :lost

          Librdkafka::TopicPartitionList.make([[*partition.key, offset + 1,
                                                *partition.epoch(offset + 1)]]) do |list|
            @transactor.send_offsets(list, metadata)
          end
          @ending = true
          @transactor.commit
          true
        ensure
          Librdkafka::Bindings.consumer_group_metadata_destroy(metadata) if metadata
        end

        # Was it committed for all that? librdkafka doesn't ask for that where a message has failed.
        # The next one is opened first: that ends what nobody has ended yet.
        def through?(begun, partition, offset)
          return false if !@ending || begun.any?(&:error)

          open unless @transactor
          @doubt.through?(partition, offset)
        rescue TransactionFailed # at a stop: nobody does it again here
          false
        end

        # Taken back is only what was answered for. The rest librdkafka forgets and gives its
        # sequence numbers to what comes next, which brokers that have it after all drop as a
        # duplicate.
        def roll_back
          return unless @transactor # it didn't even begin

          answered? ? @transactor.abort : renew
        rescue TransactionFailed => e
          reason(e)
          discard # whatever it was, the next one begins with the end of this one
        end

        def answered?
          producer = @renewable_producer.producer
          patiently { producer.flush(TURN) }.zero? && producer.failed.zero?
        end

        # Opened at once, since readers of its outputs wait for the end of what was begun.
        def renew
          discard
          open
        rescue TransactionFailed, AuthorizationError # the next `begin` finds out, and tells
          @transactor = nil
        end

        def discard
          @transactor = nil
          @child.busy(for: CLOSE_SECONDS) { @renewable_producer.discard }
        end

        def timed_out? = OS.now - @began_at >= @limit

        # What is to be raised for it.
        def reason(error, begun = [])
          discard if error.fatal?
          return fenced(error) if error.fenced?

          lost = begun.select { |delivery| delivery.error && !delivery.error.passing? }
          lost.any? ? failure(lost) : error
        end

        # Either the broker gave the transaction up, or another process has this id now. Taking it
        # back would be answered in kind, for ever; what keeps zombies out is the group's
        # generation.
        def fenced(error)
          return timed_out if timed_out?

          taken, @id = @id, "#{@id[ORIGINAL]}-#{Random.bytes(4).unpack1("H*")}"
          discard
          @renewable_producer.rename(@id)
          @report.event(:kafka_transactional_id_taken, level: :warn, transactional_id: taken,
                                                      now: @id, note: TAKEN)
          error
        end

        ORIGINAL = /\A.*-\d+-\d+/
        TAKEN = "another process makes transactions under it: do two swarms on this host have the " \
                "same name, or the same transactional:?"
        private_constant :ORIGINAL, :TAKEN

        def timed_out
          TransactionTimedOut.new(seconds: (OS.now - @began_at).round(1), limit: @limit)
        end

        def tell_waiting(error, since)
          return if @told || OS.now - since < TELL_AFTER

          @told = true
          @report.event(:kafka_transaction_waits, level: :warn, transactional_id: @id,
                                                 error: @report.clean(error.text))
        end

        def refused(error)
          AuthorizationError.new(what: :transaction, name: @id, brokers: @options.settings.brokers,
                      cause: @report.clean(error.text))
        end
      end
    end
  end
end
