# frozen_string_literal: true

# A node's producer: made when it is first asked for, shared by its threads, and made anew after
# librdkafka has given it up.
#
#   renewable_producer = RenewableProducer.new(options, report)
#   renewable_producer.producer          # => Producer
#   renewable_producer.renew             # something failed: where that was for good, the next one is another
#   renewable_producer.close(10)
module Skep
  module Kafka
    class Producer
      class RenewableProducer
        # transactional_id: whose transactions it makes; nil: none.
        #: (Config::SourceOptions, Metrics::EventReporter, ?transactional_id: String?) -> void
        def initialize(options, report, transactional_id: nil)
          @settings = options.producer
          @report = report
          @id = transactional_id
          @lock = Mutex.new
        end

        def producer #: () -> Producer
          @producer || @lock.synchronize { @producer ||= make }
        end

        # From now on its transactions are made under another id.
        def rename(id) #: (String) -> void
          @id = id
        end

        # Something failed: where that was for good, the next one is another.
        def renew = discard(&:fatal) #: () -> void

        # The next one is another, where the block says so of this one; what is on its way isn't
        # waited for.
        def discard #: () ?{ (Producer) -> untyped } -> void
          spent = @lock.synchronize do
            next unless @producer && (!block_given? || yield(@producer))

            @producer.tap { @producer = nil }
          end
          spent&.close(timeout: 0)
        end

        def close(seconds) #: (Numeric) -> void
          @lock.synchronize { @producer&.close(timeout: seconds) }
        end

        private

        def make
          settings = @id ? @settings.with(transactional) : @settings
          Producer.__for_node(settings, @report)
        end

        # (What waits for a coordinator that is gone looks again when a connection goes, and not by
        # its own clock: librdkafka 2.11, its issues 5456 and 5511.)
        def transactional
          { "transactional.id" => @id, IDLE => @settings[IDLE] || "10000" }
        end

        IDLE = "connections.max.idle.ms"
        private_constant :IDLE
      end
    end
  end
end
