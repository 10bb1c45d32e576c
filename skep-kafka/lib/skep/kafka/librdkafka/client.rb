# frozen_string_literal: true

# A librdkafka client, whose events come through one queue. It must be made in the process that uses
# it, never before a fork.
#
#   client = Client.new({ "bootstrap.servers" => "…" }, type: Bindings::PRODUCER)
#   client.control.drain { |event| … }    # errors, log lines, rebalances, delivery reports
#   client.close
module Skep
  module Kafka
    module Librdkafka
      class Client
        NO_CONSUMER_CLOSE = 0x8 # RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE
        LOGIN_SECONDS = 5.0 # for the user's callable to return, at the end
        private_constant :NO_CONSUMER_CLOSE, :LOGIN_SECONDS

        # Returns an rd_kafka_conf_t with these settings. Raises LibrdkafkaError if librdkafka
        # rejects one.
        def self.configure(settings)
          Bindings.load
          conf = Bindings.conf_new
          settings.each do |name, value|
            code, text = Bindings.with_error_buffer do |buffer, size|
              Bindings.conf_set(conf, name, value, buffer, size)
            end
            raise LibrdkafkaError.new(call: "the setting #{name}", text:) unless code.zero?
          end
          conf
        rescue LibrdkafkaError
          Bindings.conf_destroy(conf)
          raise
        end

        attr_reader :handle
        attr_reader :control

        # settings: librdkafka's, and "oauth", a callable that returns tokens (OAuthLogin).
        def initialize(settings, type:)
          oauth = settings["oauth"]
          conf = Client.configure(settings.except("oauth").merge("log.queue" => "true"))
          enable_events(conf, oauth)
          @handle, text = Bindings.with_error_buffer do |buffer, size|
            Bindings.new(type, conf, buffer, size)
          end
          if @handle.null?
            raise LibrdkafkaError.new(call: "these settings", text:, code: Bindings.last_error)
          end

          Bindings.poll_set_consumer(@handle) if type == Bindings::CONSUMER
          @control = EventQueue.new(control_queue(type))
          Bindings.set_log_queue(@handle, @control.pointer)
          @oauth_login = OAuthLogin.new(@handle, oauth) if oauth
        end

        # Returns a new queue, for the responses to requests.
        def queue = EventQueue.new(Bindings.queue_new(handle))

        # Returns librdkafka's fatal error, after which the client is of no use; nil without one,
        # and once the client is closed.
        def fatal
          return if closed?

          code, text = Bindings.with_error_buffer do |buffer, size|
            Bindings.fatal_error(handle, buffer, size)
          end
          code.zero? ? nil : failure(code, text)
        end

        # Returns the cluster's id; nil before a broker has answered.
        def cluster_id
          pointer = Bindings.clusterid(handle, 0)
          pointer.read_string unless pointer.null?
        ensure
          Bindings.mem_free(handle, pointer) if pointer
        end

        # Destroys the client. What isn't committed or delivered yet is lost.
        def close
          return if closed?

          return abandon unless end_login

          control.close
          Bindings.destroy_flags(handle, NO_CONSUMER_CLOSE)
          @handle = nil
        end

        # Forgets the client without destroying it, which would wait for its threads: for a process
        # that is about to exit.
        def abandon
          end_login
          control.close
          @handle = nil
        end

        def closed? = handle.nil?
        def inspect = "#<#{self.class} #{closed? ? "closed" : "open"}>"

        private

        def enable_events(conf, oauth)
          events = EventQueue::Event::ALL
          events |= EventQueue::Event::TOKEN_REFRESH if oauth
          Bindings.conf_set_events(conf, events)
          Bindings.conf_enable_sasl_queue(conf, 1) if oauth
        end

        # Returns false if the user's callable hasn't returned: it would find no client.
        def end_login
          login, @oauth_login = @oauth_login, nil
          login.nil? || login.close(LOGIN_SECONDS)
        end

        def failure(code, text) = FatalClientError.new(code: Bindings.err2name(code), text:)

        def control_queue(type)
          return Bindings.queue_get_main(handle) unless type == Bindings::CONSUMER

          Bindings.queue_get_consumer(handle)
        end

        def check(code, call)
          raise LibrdkafkaError.new(call:, text: Bindings.err2str(code)) unless code.zero?
        end

        # For functions that return an rd_kafka_error_t, or NULL.
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
