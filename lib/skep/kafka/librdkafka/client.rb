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
          raise LibrdkafkaError.new(call: "these settings", text:) if @handle.null?

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

      # A consumer's queries for offsets. Partitions are [topic, number]; a Hash leaves out
      # partitions for which an error was answered, and of `ends` and `starts` those without an
      # offset. All but `end_of` send requests to the brokers, one to each
      # broker, and wait up to the given seconds; without a response they return nil.
      #
      #   consumer.end_of("orders", 3)       # => 1234, the high watermark as of the last fetch; nil
      #   consumer.ends(keys, 2.0)           # => { ["orders", 3] => 1250 }, the high watermarks
      #   consumer.committed(keys, 2.0)      # the group's committed offsets; nil: it has none
      #   consumer.committed_with_metadata(keys, 2.0)   # => { ["orders", 3] => [42, 7, "…"] }, the
      #                                      # same with leader epoch and metadata, or nil for them
      #   consumer.starts(keys, 2.0)         # where a group without a committed offset starts
      #   consumer.find(["orders", 3], :beginning, 2.0)   # => 17; or :end, or a Time; raises
      #                                                   # LibrdkafkaError without a response
      module OffsetQueries
        BEGINNING, END_ = -2, -1 # RD_KAFKA_OFFSET_BEGINNING, RD_KAFKA_OFFSET_END
        RESETS = { "earliest" => BEGINNING, "smallest" => BEGINNING, "beginning" => BEGINNING,
                   "latest" => END_, "largest" => END_, "end" => END_ }.freeze
        PLACES = { beginning: BEGINNING, end: END_ }.freeze
        private_constant :BEGINNING, :END_, :RESETS, :PLACES

        def end_of(topic, number)
          words = FFI::MemoryPointer.new(:int64, 2)
          Bindings.get_watermark_offsets(handle, topic, number, words, words + 8)
          words.get_int64(8).then { |offset| offset unless offset.negative? }
        end

        def ends(keys, seconds) = look_up(keys, END_, seconds)

        def committed(keys, seconds)
          committed_with_metadata(keys, seconds)&.transform_values { |entry| entry&.first }
        end

        def committed_with_metadata(keys, seconds)
          TopicPartitionList.make(keys) do |list|
            next unless Bindings.committed(handle, list.pointer, (seconds * 1000).to_i).zero?

            found = list.to_a.zip(list.epochs, list.metadata)
            found.select! { |(_, _, _, code), *| code.zero? }
            found.to_h do |(topic, number, offset, _), *others|
              [[topic, number], ([offset, *others] unless offset.negative?)]
            end
          end
        end

        def starts(keys, seconds)
          where = RESETS[@reset] or return {}
          look_up(keys, where, seconds)
        end

        # Returns the offset of a place. A Time is the first message of then or later, or the end if
        # there is none. Brokers search for no time before 1970: negative numbers are other places.
        def find(key, place, seconds)
          where = PLACES.fetch(place) { (place.to_r * 1000).ceil }
          where = BEGINNING if place.is_a?(Time) && where.negative?
          offset = TopicPartitionList.make([[*key, where]]) do |list|
            check(Bindings.offsets_for_times(handle, list.pointer, (seconds * 1000).to_i), SEARCH)
            list.to_a.first.then { |_, _, found, code| check(code, SEARCH) || found }
          end
          offset.negative? && place != :end ? find(key, :end, seconds) : offset
        end

        SEARCH = "the search for an offset"
        private_constant :SEARCH

        private

        def look_up(keys, where, seconds)
          TopicPartitionList.make(keys.map { |key| [*key, where] }) do |list|
            code = Bindings.offsets_for_times(handle, list.pointer, (seconds * 1000).to_i)
            next unless code.zero?

            found = list.to_a.select { |_, _, offset, code| code.zero? && offset >= 0 }
            found.to_h { |topic, number, offset, _| [[topic, number], offset] }
          end
        end
      end
    end
  end
end
