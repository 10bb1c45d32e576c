# frozen_string_literal: true

# Sends requests about a consumer group without being a member of it: one at a time, each awaited.
# All of them together may take so many seconds.
#
#   admin_client = AdminClient.new("billing", settings, seconds: 15)
#   admin_client.connect            # raises BrokerUnreachable or AuthorizationError
#   request = ->(client, answers, seconds) do
#     Librdkafka::AdminRequests.end_offsets(client, answers, pairs, seconds)
#   end
#   admin_client.request(request) { |event| [code, answer] }   # => answer; raises the same errors
#   admin_client.close
module Skep
  module Kafka
    module Admin
      class AdminClient
        PAUSE = 0.2 # seconds before a request is repeated
        CLOSE_SECONDS = 1.0
        private_constant :PAUSE, :CLOSE_SECONDS

        def initialize(group, settings, seconds:)
          @group = group
          @settings = settings
          @seconds = seconds
        end

        # Returns when a broker has answered.
        def connect
          @deadline = OS.now + @seconds
          @client = Librdkafka::Client.new(@settings.admin(@group), type: Librdkafka::Bindings::CONSUMER)
          @answers = @client.queue
          query = Librdkafka::MetadataQuery.new(@client, [])
          query.start
          await(query.io) { query.answer }
        ensure
          query&.close
        end

        # Sends a request and returns its answer. The block returns the error code and the answer
        # that it reads from the event. Repeats the request while the group has no coordinator, as
        # when it moves to another broker.
        def request(request)
          Kernel.loop do
            code, answer = answer_to(request) { |event| yield event }
            return answer unless Librdkafka::ErrorCode::COORDINATOR.include?(code)

            wait([], PAUSE)
          end
        end

        # A request without an answer may delay the client's end: then a thread waits for it. The
        # client isn't abandoned, as a process that runs for long would keep its threads and
        # connections.
        def close
          @answers&.close
          return @client&.close unless @awaiting

          closing = Threads::Background.new("kafka.close", drain: 0) { @client.close }
          closing.close(timeout: CLOSE_SECONDS)
        end

        def inspect = "#<Skep::Kafka::Admin::AdminClient #{@settings.brokers}>"

        private

        def answer_to(request)
          request.call(@client, @answers, Librdkafka::AdminRequests::NO_TIMEOUT)
          @awaiting = true
          found = nil
          await(@answers.io) do
            @answers.drain { |event| found = yield(event) }
            found
          end.tap { @awaiting = false }
        end

        def await(io)
          Kernel.loop do
            @client.control.drain { |event| handle(event) }
            answer = yield
            return answer if answer

            wait([io])
          end
        end

        def wait(ios, longest = nil)
          left = @deadline - OS.now
          if left.positive?
            return IO.select([@client.control.io, *ios], nil, nil, [left, *longest].min)
          end

          raise BrokerUnreachable.new(brokers: @settings.brokers, seconds: @seconds, cause: @cause,
                                      patience: "--timeout")
        end

        # Keeps the error that says most: "all brokers are down" only where there is no other.
        def handle(event)
          return unless event.kind == :error

          login = Librdkafka::ErrorCode::LOGIN.include?(event.code)
          raise refused(event) if login && !event.no_token?

          all_down = event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN
          @cause = clean(event.text) unless @cause && all_down
        end

        def refused(event)
          AuthorizationError.new(what: :login, name: nil, brokers: @settings.brokers,
                                 cause: clean(event.text))
        end

        def clean(text) = @settings.redact(text)
      end
    end
  end
end
