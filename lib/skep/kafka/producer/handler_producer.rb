# frozen_string_literal: true

# The `node.producer` of one thread of a node. Its messages belong to the batch that the thread
# processes: the batch isn't done before the brokers have acknowledged all of them. The producer
# under it is shared with the node's other threads.
#
#   handler_producer = HandlerProducer.new(renewable_producer, node)
#   handler_producer.begin_batch                           # the handler is called now
#   handler_producer.produce("out", "payload")
#   handler_producer.end_batch(partition, offset)          # raises DeliveryFailed for failures
#   handler_producer.abort_batch                           # the handler raised
#
# A failure that the handler has seen itself (its `wait` raised) doesn't fail the batch.
# RenewableProducer (below) replaces a producer after a fatal error; HandlerProducers (below) has
# those of all threads, and flushes them at the node's stop.
module Skep
  module Kafka
    class Producer
      class HandlerProducer
        include ProduceMethods

        SLICE = 1.0 # seconds of a wait, after which it checks whether the node is stopping
        STOP_SECONDS = 10.0 # that a stopping node waits for deliveries
        private_constant :SLICE, :STOP_SECONDS

        # serializer: see Producer.
        def initialize(renewable_producer, node, serializer: nil)
          @serializer = ProduceMethods.serializer(serializer)
          @renewable_producer = renewable_producer
          @node = node
          @lock = Mutex.new
        end

        # Produces the payload as it is.
        def __produce(topic, payload, key: nil, headers: nil, partition: nil, timestamp: nil)
          more = { key:, headers:, partition:, timestamp:, claimed: true, node: @node }
          handle = @renewable_producer.producer.__produce(topic, payload, **more)
          @lock.synchronize { @handles&.push(handle) } || handle.__release
          handle
        end

        # Waits up to `seconds` for what the handler has produced so far. Returns how many messages
        # are not acknowledged.
        def flush(seconds)
          deadline = OS.now + seconds
          waiting = @lock.synchronize { @handles.to_a.reject(&:done?) }
          waiting.count { |handle| !handle.__await([deadline - OS.now, 0].max) }
        end

        # Called by the worker.

        # Returns true if end_batch commits the offset of the batch, too.
        def transactional? = false

        def begin_batch
          @batch_error = nil
          @handles = []
        end

        # Waits for the messages of the batch up to that offset; returns true. Once it has raised,
        # it raises the same error until the next begin_batch.
        def end_batch(_partition, _offset)
          raise @batch_error if @batch_error

          handles = take_handles
          handles.each { |handle| await(handle) }
          failed = handles.select { |handle| handle.error && !handle.heard? }
          failed.empty? || raise(delivery_error(failed))
        rescue DeliveryFailed => e
          @batch_error = e
          handles&.each { |handle| handle.__release unless handle.done? }
          @renewable_producer.renew
          raise
        end

        # Messages in flight are still sent; their failures are reported.
        def abort_batch
          @batch_error = nil
          take_handles.each(&:__release)
        end

        def inspect
          "#<Skep::Kafka::Producer::HandlerProducer of #{@node.inspect}>"
        end

        private

        # The messages produced from here on don't belong to the batch.
        def take_handles
          @lock.synchronize { @handles.to_a.tap { @handles = nil } }
        end

        # Waiting for a broker does not count as a hang.
        def waiting_for_broker(&) = @node.busy(for: SLICE * 5, &)

        def await(handle)
          return if handle.done?

          until waiting_for_broker { handle.__await(SLICE) }
            check_stop(handle.topic) if @node.stopping?
          end
        end

        # A stopping node doesn't wait for ever: the batch isn't done then, and is delivered again.
        def check_stop(topic)
          @stop_at ||= OS.now + [STOP_SECONDS, (@node.time_left || STOP_SECONDS) / 2].min
          return if OS.now < @stop_at

          raise DeliveryFailed.new(topic:, cause: "no answer, and the node is stopping")
        end

        def delivery_error(failed)
          first = failed.first
          DeliveryFailed.new(topic: first.topic, count: failed.size, cause: first.error.why,
                             code: first.error.code)
        end
      end

      # A node's producer: made at its first use, shared by threads, and replaced after a fatal
      # error.
      #
      #   renewable_producer = RenewableProducer.new(options, report)
      #   renewable_producer.producer    # => Producer
      #   renewable_producer.renew       # after a failure: replaces the producer if that was fatal
      #   renewable_producer.discard     # replaces it in any case
      #   renewable_producer.close(10)
      #
      # The next call of #producer makes the replacement.
      class RenewableProducer
        # A transactional call of librdkafka ignores its own limit while it waits for a coordinator
        # that was lost (librdkafka's issues 5456 and 5511). librdkafka looks for the coordinator
        # again when a connection closes or opens, but not within a second of its last look: an idle
        # connection closes, the look finds no broker, and the connection that opens at once comes
        # too soon. That second doesn't count if the cached coordinator has expired by then. So idle
        # connections are closed early, and the cache expires before: of the 5 s, librdkafka takes
        # off up to 2 s at random, and its timer up to 1 s.
        TRANSACTION_SETTINGS = { "connections.max.idle.ms" => "5000",
                                 "metadata.max.age.ms" => "1500" }.freeze
        private_constant :TRANSACTION_SETTINGS

        # transactional_id: nil for a producer without transactions.
        def initialize(options, report, transactional_id: nil)
          @settings = options.producer
          @report = report
          @transactional_id = transactional_id
          @lock = Mutex.new
        end

        def producer
          @producer || @lock.synchronize { @producer ||= make }
        end

        # The next producer uses another transactional.id.
        def rename(transactional_id)
          @transactional_id = transactional_id
        end

        # Closes the producer if it has a fatal error.
        def renew = discard(&:fatal)

        # Closes the producer, if the block returns true for it, without waiting for messages in
        # flight.
        def discard
          discarded = @lock.synchronize do
            next unless @producer && (!block_given? || yield(@producer))

            @producer.tap { @producer = nil }
          end
          discarded&.close(timeout: 0)
        end

        def close(seconds)
          @lock.synchronize { @producer&.close(timeout: seconds) }
        end

        private

        def make
          settings = @transactional_id ? @settings.with(transaction_settings) : @settings
          Producer.__for_node(settings, @report)
        end

        def transaction_settings
          { "transactional.id" => @transactional_id,
            **TRANSACTION_SETTINGS.to_h { |name, value| [name, @settings[name] || value] } }
        end
      end

      # The producers of a node's handlers: all threads share one Producer, or, in a transactional
      # source, each thread has its own. Consumer::GroupMember makes them and closes them at the
      # node's stop.
      #
      #   producers = HandlerProducers.new(options:, node:, consumer:, report:)
      #   producers.for_thread(node, 1)  # => a HandlerProducer or TransactionalProducer; it is the
      #                                  #    `producer` of that node from now on
      #   producers.init_transactions    # when the node starts; false if the node is stopping
      #   producers.close                # waits some seconds for messages in flight
      class HandlerProducers
        CLOSE_SECONDS = 10.0
        private_constant :CLOSE_SECONDS

        def initialize(options:, node:, consumer:, report:)
          @options, @node, @consumer, @report = options, node, consumer, report
          @producer_report = Metrics::EventReporter.new(node, options.producer)
          @renewable_producers = []
          @handler_producers = []
        end

        # node: the node's, or the one of a single thread; thread: its number.
        def for_thread(node, thread)
          own = @options.transactional
          producer = own ? transactional(node, thread) : plain(node)
          node.__lend(producer)
          @handler_producers << producer
          producer
        end

        # Ends the transactions that a previous node has left open. The node's own thread waits, for
        # the producers of all threads.
        def init_transactions
          return true unless @options.transactional

          @handler_producers.each { |producer| producer.init_transactions(waiting: @node) }
          true
        rescue TransactionFailed
          raise unless @node.stopping?

          false
        end

        # Call it when no batch is in progress any more. Flushes, then closes the clients: messages
        # of aborted batches, or that other threads produced, may still be in flight.
        #
        # A transactional producer isn't flushed. Its messages all belong to a transaction: a commit
        # has waited for them, and a transaction that is still open isn't committed any more. The
        # next producer with this transactional.id aborts it.
        def close
          seconds = [CLOSE_SECONDS, (@node.time_left || CLOSE_SECONDS) / 3].min
          seconds = @options.transactional ? 0 : [seconds, 0].max
          @renewable_producers.each { |producer| producer.close(seconds) }
        end

        private

        def shared = @renewable_producers.first || renewable_producer

        def renewable_producer(**more)
          RenewableProducer.new(@options, @producer_report, **more)
                           .tap { |producer| @renewable_producers << producer }
        end

        def plain(node) = HandlerProducer.new(shared, node, serializer: @options.serializer)

        # The node that replaces this one has the same id, and no other node.
        def transactional(node, thread)
          prefix = @options.transactional
          prefix = "#{@node.swarm}-#{Socket.gethostname}" if prefix == true
          id = "#{prefix}-#{@node.id}-#{thread}"
          TransactionalProducer.new(renewable_producer(transactional_id: id), node,
                                    consumer: @consumer, report: @report, options: @options, id:)
        end
      end
    end
  end
end
