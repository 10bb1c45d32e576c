# frozen_string_literal: true

# A librdkafka client: made from settings, answering through one queue. Made only in the process
# that uses it.
#
#   client = Client.new({ "bootstrap.servers" => "…" }, type: Bindings::PRODUCER)
#   client.control.drain { |event| … }    # errors, log lines, rebalances, delivery reports
#   client.close
module Skep
  module Kafka
    module Librdkafka
      class Client
        NO_CONSUMER_CLOSE = 0x8 # RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE
        private_constant :NO_CONSUMER_CLOSE

        # librdkafka's configuration of these settings; raises LibrdkafkaError for one it doesn't
        # take.
        def self.configure(settings) #: (Hash[String, String]) -> FFI::Pointer
          Bindings.load
          conf = Bindings.conf_new
          settings.each do |name, value|
            code, text = Bindings.with_error_buffer { |*room| Bindings.conf_set(conf, name, value, *room) }
            raise LibrdkafkaError.new(call: "the setting #{name}", text:) unless code.zero?
          end
          conf
        rescue LibrdkafkaError
          Bindings.conf_destroy(conf)
          raise
        end

        attr_reader :handle #: FFI::Pointer
        attr_reader :control #: EventQueue

        def initialize(settings, type:) #: (Hash[String, String], type: Integer) -> void
          conf = Client.configure(settings.merge("log.queue" => "true"))
          Bindings.conf_set_events(conf, EventQueue::Event::ALL)
          @handle, text = Bindings.with_error_buffer { |buffer, size|
 Bindings.new(type, conf, buffer, size) }
          raise LibrdkafkaError.new(call: "these settings", text:) if @handle.null?

          Bindings.poll_set_consumer(@handle) if type == Bindings::CONSUMER
          @control = EventQueue.new(control_queue(type))
          Bindings.set_log_queue(@handle, @control.pointer)
        end

        # A queue of its own for the answers to requests.
        def queue = EventQueue.new(Bindings.queue_new(handle)) #: () -> EventQueue

        # The error librdkafka gave up for, nil while all is well, and once it is closed.
        def fatal #: () -> Error?
          return if closed?

          code, text = Bindings.with_error_buffer { |buffer, size|
 Bindings.fatal_error(handle, buffer, size) }
          code.zero? ? nil : failure(code, text)
        end

        # Gives everything back. What wasn't committed or delivered before is lost.
        def close #: () -> void
          return if closed?

          control.close
          Bindings.destroy_flags(handle, NO_CONSUMER_CLOSE)
          @handle = nil
        end

        # Lets go of it without waiting for what it still has to do, its threads included: for a
        # process that ends.
        def abandon #: () -> void
          control.close
          @handle = nil
        end

        def closed? = handle.nil? #: () -> bool
        def inspect = "#<#{self.class} #{closed? ? "closed" : "open"}>" #: () -> String

        private

        def failure(code, text) = FatalClientError.new(code: Bindings.err2name(code), text:)

        def control_queue(type)
          type == Bindings::CONSUMER ? Bindings.queue_get_consumer(handle) : Bindings.queue_get_main(handle)
        end

        def check(code, call)
          raise LibrdkafkaError.new(call:, text: Bindings.err2str(code)) unless code.zero?
        end

        # For functions that answer with an error object, or none.
        def check_error(error, call)
          return if error.null?

          text = Bindings.error_string(error)
          Bindings.error_destroy(error)
          raise LibrdkafkaError.new(call:, text:)
        end
      end
    end
  end
end
