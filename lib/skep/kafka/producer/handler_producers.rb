# frozen_string_literal: true

# The producers of a node's handlers: all threads share one Producer, or, in a transactional source,
# each thread has its own.
#
#   producers = HandlerProducers.new(options:, child:, consumer:, report:)
#   producers.for_thread(child, 1)   # => a HandlerProducer or TransactionalProducer; it is the
#                                    #    `producer` of that child from now on
#   producers.init_transactions      # when the node starts; false if the node is stopping
#   producers.close                  # waits some seconds for messages in flight
module Skep
  module Kafka
    class Producer
      class HandlerProducers
        CLOSE_SECONDS = 10.0
        private_constant :CLOSE_SECONDS

        #: (options: Config::SourceOptions, child: Child, consumer: Consumer,
        #:   report: Metrics::EventReporter) -> void
        def initialize(options:, child:, consumer:, report:)
          @options, @child, @consumer, @report = options, child, consumer, report
          @producer_report = Metrics::EventReporter.new(child, options.producer)
          @renewable_producers = []
          @handler_producers = []
        end

        # child: the node's, or the one of a single thread; thread: its number.
        #: (Child | Lane, Integer) -> HandlerProducer
        def for_thread(child, thread)
          own = @options.transactional
          producer = own ? transactional(child, thread) : HandlerProducer.new(shared, child)
          child.__lend(producer)
          @handler_producers << producer
          producer
        end

        # Ends the transactions that a previous node has left open.
        def init_transactions #: () -> bool
          @handler_producers.each(&:init_transactions) if @options.transactional
          true
        rescue TransactionFailed
          raise unless @child.stopping?

          false
        end

        def close #: () -> void
          seconds = [CLOSE_SECONDS, (@child.time_left || CLOSE_SECONDS) / 3].min
          seconds = @options.transactional ? 0 : [seconds, 0].max
          @renewable_producers.each { |producer| producer.close(seconds) }
        end

        private

        def shared = @renewable_producers.first || renewable_producer

        def renewable_producer(**more)
          RenewableProducer.new(@options, @producer_report, **more)
                           .tap { |producer| @renewable_producers << producer }
        end

        # The node that replaces this one has the same id, and no other node.
        def transactional(child, thread)
          prefix = @options.transactional
          prefix = "#{@child.swarm}-#{Socket.gethostname}" if prefix == true
          id = "#{prefix}-#{@child.id}-#{thread}"
          TransactionalProducer.new(renewable_producer(transactional_id: id), child,
                                    consumer: @consumer, report: @report, options: @options, id:)
        end
      end
    end
  end
end
