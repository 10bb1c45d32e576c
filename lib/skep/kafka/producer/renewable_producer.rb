# frozen_string_literal: true

# A node's producer: made at its first use, shared by threads, and replaced after a fatal error.
#
#   renewable_producer = RenewableProducer.new(options, report)
#   renewable_producer.producer    # => Producer
#   renewable_producer.renew       # after a failure: replaces the producer if that was fatal
#   renewable_producer.discard     # replaces it in any case
#   renewable_producer.close(10)
#
# The next call of #producer makes the replacement.
module Skep
  module Kafka
    class Producer
      class RenewableProducer
        MAX_IDLE = "connections.max.idle.ms"
        private_constant :MAX_IDLE

        # transactional_id: nil for a producer without transactions.
        #: (Config::SourceOptions, Metrics::EventReporter, ?transactional_id: String?) -> void
        def initialize(options, report, transactional_id: nil)
          @settings = options.producer
          @report = report
          @transactional_id = transactional_id
          @lock = Mutex.new
        end

        def producer #: () -> Producer
          @producer || @lock.synchronize { @producer ||= make }
        end

        # The next producer uses another transactional.id.
        def rename(transactional_id) #: (String) -> void
          @transactional_id = transactional_id
        end

        # Closes the producer if it has a fatal error.
        def renew = discard(&:fatal) #: () -> void

        # Closes the producer, if the block returns true for it, without waiting for messages in
        # flight.
        def discard #: () ?{ (Producer) -> untyped } -> void
          discarded = @lock.synchronize do
            next unless @producer && (!block_given? || yield(@producer))

            @producer.tap { @producer = nil }
          end
          discarded&.close(timeout: 0)
        end

        def close(seconds) #: (Numeric) -> void
          @lock.synchronize { @producer&.close(timeout: seconds) }
        end

        private

        def make
          settings = @transactional_id ? @settings.with(transaction_settings) : @settings
          Producer.__for_node(settings, @report)
        end

        # A transactional call that waits for a lost coordinator looks for it again only when a
        # connection closes (librdkafka 2.11, its issues 5456 and 5511): so idle connections are
        # closed early.
        def transaction_settings
          { "transactional.id" => @transactional_id, MAX_IDLE => @settings[MAX_IDLE] || "10000" }
        end
      end
    end
  end
end
