# frozen_string_literal: true

# Questions about a group by who is no member of it: asked one after the other, each waited for.
# What keeps the cluster from answering is raised in a sentence.
#
#   admin_client = AdminClient.new("billing", settings, seconds: 15)
#   admin_client.open                       # raises BrokerUnreachable, or AuthorizationError
#   question = ->(client, answers, seconds) { AdminRequests.ends(client, answers, pairs, seconds) }
#   admin_client.ask(question) { |event| AdminRequests.ends_in(event) }    # => what the block gives
#   admin_client.close
#
# All of it together may take so many seconds.
module Skep
  module Kafka
    module Admin
      class AdminClient
        REQUEST_SECONDS = 3600.0 # one that librdkafka itself gives up can abort the process
        PAUSE = 0.2 # seconds
        private_constant :REQUEST_SECONDS, :PAUSE

        #: (String, Config::ClientConfig, seconds: Numeric) -> void
        def initialize(group, settings, seconds:)
          @group = group
          @settings = settings
          @seconds = seconds
        end

        # Returns when a broker has answered.
        def open #: () -> void
          @deadline = OS.now + @seconds
          @client = Librdkafka::Client.new(@settings.admin(@group), type: Librdkafka::Bindings::CONSUMER)
          @answers = @client.queue
          topics = Consumer::MetadataQuery.new(@client, [])
          topics.start
          await(topics.io) { topics.answer }
        ensure
          topics&.close
        end

        # Asks, and asks again while the group is on its way to another coordinator, or to its
        # first.
        #: (^(Librdkafka::Client, Librdkafka::EventQueue, Float) -> void) { (Librdkafka::EventQueue::Event)
        #:   -> untyped } -> untyped
        def ask(question)
          Kernel.loop do
            code, answer = answer_to(question) { |event| yield event }
            return answer unless Librdkafka::ErrorCode::COORDINATOR.include?(code)

            wait([], PAUSE)
          end
        end

        # The process is to end soon if something wasn't answered.
        def close #: () -> void
          @answers&.close
          @asking ? @client.abandon : @client&.close
        end

        def inspect = "#<Skep::Kafka::Admin::AdminClient #{@settings.brokers}>" #: () -> String

        private

        # An error code, and what the block makes of the answer.
        def answer_to(question)
          question.call(@client, @answers, REQUEST_SECONDS)
          @asking = true
          found = nil
          await(@answers.io) do
            @answers.drain { |event| found = yield(event) }
            found
          end.tap { @asking = false }
        end

        def await(io)
          Kernel.loop do
            @client.control.drain { |event| hear(event) }
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

        def hear(event)
          return unless event.kind == :error
          raise refusal(event) if Librdkafka::ErrorCode::LOGIN.include?(event.code)

          @cause = clean(event.text) unless @cause && event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN
        end

        def refusal(event)
          AuthorizationError.new(what: :login, name: nil, brokers: @settings.brokers,
                                 cause: clean(event.text))
        end

        def clean(text) = @settings.redact(text)
      end
    end
  end
end
