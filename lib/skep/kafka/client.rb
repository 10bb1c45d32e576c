# frozen_string_literal: true

# A librdkafka client: made from settings, answering through one queue. Made only in the process
# that uses it.
#
#   client = Client.new({ "bootstrap.servers" => "…" }, type: Native::PRODUCER)
#   client.control.drain { |event| … }    # errors, log lines, rebalances, delivery reports
#   client.close
module Skep
  module Kafka
    class Client
      NO_CONSUMER_CLOSE = 0x8 # RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE
      private_constant :NO_CONSUMER_CLOSE

      # librdkafka's configuration of these settings; raises CallFailed for one it doesn't take.
      def self.configure(settings) #: (Hash[String, String]) -> FFI::Pointer
        Native.load
        conf = Native.conf_new
        settings.each do |name, value|
          code, text = Native.complaint { |*room| Native.conf_set(conf, name, value, *room) }
          raise CallFailed.new(call: "the setting #{name}", text:) unless code.zero?
        end
        conf
      rescue CallFailed
        Native.conf_destroy(conf)
        raise
      end

      attr_reader :handle #: FFI::Pointer
      attr_reader :control #: EventQueue

      def initialize(settings, type:) #: (Hash[String, String], type: Integer) -> void
        conf = Client.configure(settings.merge("log.queue" => "true"))
        Native.conf_set_events(conf, Event::ALL)
        @handle, text = Native.complaint { |buffer, size| Native.new(type, conf, buffer, size) }
        raise CallFailed.new(call: "these settings", text:) if @handle.null?

        Native.poll_set_consumer(@handle) if type == Native::CONSUMER
        @control = EventQueue.new(control_queue(type))
        Native.set_log_queue(@handle, @control.pointer)
      end

      # A queue of its own for the answers to requests.
      def queue = EventQueue.new(Native.queue_new(handle)) #: () -> EventQueue

      # The error librdkafka gave up for, nil while all is well, and once it is closed.
      def fatal #: () -> Error?
        return if closed?

        code, text = Native.complaint { |buffer, size| Native.fatal_error(handle, buffer, size) }
        code.zero? ? nil : failure(code, text)
      end

      # Gives everything back. What wasn't committed or delivered before is lost.
      def close #: () -> void
        return if closed?

        control.close
        Native.destroy_flags(handle, NO_CONSUMER_CLOSE)
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

      def failure(code, text) = ClientFailed.new(code: Native.err2name(code), text:)

      def control_queue(type)
        type == Native::CONSUMER ? Native.queue_get_consumer(handle) : Native.queue_get_main(handle)
      end

      def check(code, call)
        raise CallFailed.new(call:, text: Native.err2str(code)) unless code.zero?
      end

      # For functions that answer with an error object, or none.
      def check_error(error, call)
        return if error.null?

        text = Native.error_string(error)
        Native.error_destroy(error)
        raise CallFailed.new(call:, text:)
      end
    end
    private_constant :Client
  end
end
