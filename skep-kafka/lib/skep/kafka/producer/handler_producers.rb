# frozen_string_literal: true

# The producers of a node's handlers: all threads share one Producer, or, in a transactional
# source, each thread has its own. Consumer::GroupMember makes them and closes them at the
# node's stop.
#
#   producers = HandlerProducers.new(options:, node:, consumer:, report:)
#   producers.for_thread(node, 1)  # => a HandlerProducer or TransactionalProducer; it is the
#                                  #    `producer` of that node from now on
#   producers.init_transactions    # when the node starts; false if the node is stopping
#   producers.close                # waits some seconds for messages in flight
module Skep
  module Kafka
    class Producer
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
