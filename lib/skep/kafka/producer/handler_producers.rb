# frozen_string_literal: true

# What a node's handlers write with: one producer for all of them, or one for each thread where
# each has transactions of its own.
#
#   outputs = HandlerProducers.new(options:, child:, consumer:, report:)
#   outputs.of(lane, thread)     # => HandlerProducer or TransactionalProducer, lent to the lane as its `producer`
#   outputs.open                 # at the node's start; false if it is to stop
#   outputs.close                # what is on its way has some seconds yet
module Skep
  module Kafka
    class Producer
      class HandlerProducers
        CLOSE_SECONDS = 10.0
        private_constant :CLOSE_SECONDS

        #: (options: Config::SourceOptions, child: Child, consumer: Consumer,
        #:   report: Metrics::EventReporter) -> void
        def initialize(options:, child:, consumer:, report:)
          @options, @child, @consumer, @consumer_report = options, child, consumer, report
          @report = Metrics::EventReporter.new(child, options.producer)
          @presses = []
          @all = []
        end

        def of(lane, thread) #: (Child | Lane, Integer) -> HandlerProducer
          output = @options.transactional ? transaction(lane,
                                                        thread) : HandlerProducer.new(shared, lane)
          lane.__lend(output)
          @all << output
          output
        end

        # Transactions that a predecessor left open end here.
        def open #: () -> bool
          @all.each(&:open) if @options.transactional
          true
        rescue TransactionFailed
          raise unless @child.stopping?

          false
        end

        def close #: () -> void
          seconds = [CLOSE_SECONDS, (@child.time_left || CLOSE_SECONDS) / 3].min
          @presses.each { |renewable_producer|
 renewable_producer.close(@options.transactional ? 0 : [seconds, 0].max) }
        end

        private

        def shared = @presses.first || renewable_producer

        def renewable_producer(**how)
          RenewableProducer.new(@options, @report, **how).tap { |made| @presses << made }
        end

        # The same for whoever has this node's place after it, and nobody else's.
        def transaction(lane, thread)
          own = @options.transactional
          own = "#{@child.swarm}-#{Socket.gethostname}" if own == true
          id = "#{own}-#{@child.id}-#{thread}"
          TransactionalProducer.new(renewable_producer(transactional_id: id), lane, id:, options: @options,
                                    consumer: @consumer, report: @consumer_report)
        end
      end
    end
  end
end
