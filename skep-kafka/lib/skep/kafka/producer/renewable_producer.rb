# frozen_string_literal: true

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
module Skep
  module Kafka
    class Producer
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
    end
  end
end
