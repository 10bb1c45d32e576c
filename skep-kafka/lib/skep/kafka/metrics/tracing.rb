# frozen_string_literal: true

# Spans of OpenTelemetry for what handlers do, in the trace of the message's `traceparent` header.
# It needs the gem opentelemetry-api and a configured SDK, which the application loads.
#
#   tracing = Tracing.for("billing")         # nil without a configured SDK
#   tracing.batch(batch) { handler.call(batch, node) }
#   tracing.message(message) { … }           # Batch#each, around each message
#   Tracing.inject(headers)                  # => headers with the current context, for a producer
#
# A batch has one span, which links to its messages. If it has more than one message, each message
# with a `traceparent` has a span of its own while `each` yields it, a child of the span that wrote
# the message. Names and attributes are those of OpenTelemetry's conventions for messaging.
module Skep
  module Kafka
    module Metrics
      class Tracing
        LINKS = 128 # messages of a batch to which its span links
        FIELD = "traceparent"
        private_constant :LINKS, :FIELD

        # Reads a context from a message's headers.
        module Headers
          # A repeated header is an Array.
          def self.get(headers, name)
            Array(headers[name]).last&.dup&.force_encoding(Encoding::UTF_8)&.scrub
          end

          def self.keys(headers) = headers.keys
        end
        private_constant :Headers

        class << self
          def for(group) = configured? ? new(group) : nil

          # Returns the headers with the current span's context, unless they have one.
          def inject(headers)
            return headers unless configured? && current?
            return headers unless headers.nil? || headers.is_a?(Hash)
            return headers if headers&.each_key&.any? { |name| name.to_s == FIELD }

            carrier = {}
            ::OpenTelemetry.propagation.inject(carrier)
            carrier.merge(headers.to_h)
          end

          private

          def configured?
            return false unless defined?(::OpenTelemetry::Internal::ProxyTracerProvider)

            # What the API has before an SDK is configured.
            !::OpenTelemetry.tracer_provider.instance_of?(
              ::OpenTelemetry::Internal::ProxyTracerProvider
            )
          end

          def current? = ::OpenTelemetry::Trace.current_span.context.valid?
        end

        def initialize(group)
          @group = group
          @tracer = ::OpenTelemetry.tracer_provider.tracer("skep", Skep::VERSION)
        end

        # Returns what the block returns. An exception is recorded in the span.
        def batch(batch, &)
          contexts = contexts_of(batch)
          single = batch.size == 1 ? contexts.first : nil
          links = contexts.filter_map { |context| link(context) } unless single
          attributes = { **attributes(batch), "messaging.batch.message_count" => batch.size }
          within(single) do
            @tracer.in_span("process #{batch.topic}", attributes:, links:, kind: :consumer) do
              with_messages(batch.size > 1, &)
            end
          end
        end

        def message(message)
          context = context_of(message) if @by_message
          return yield unless context

          links = [::OpenTelemetry::Trace::Link.new(::OpenTelemetry::Trace.current_span.context)]
          attributes = { **attributes(message), "messaging.kafka.offset" => message.offset }
          within(context) do
            name = "process #{message.topic}"
            @tracer.in_span(name, attributes:, links:, kind: :consumer) { yield }
          end
        end

        def inspect = "#<Skep::Kafka::Metrics::Tracing #{@group}>"

        private

        # A batch of one message has one span.
        def with_messages(several)
          @by_message = several
          yield
        ensure
          @by_message = false
        end

        def within(context, &)
          context ? ::OpenTelemetry::Context.with_current(context, &) : yield
        end

        def contexts_of(slice) = slice.first(LINKS).filter_map { |message| context_of(message) }

        # Returns nil for a message without a context.
        def context_of(message)
          return unless message.headers.key?(FIELD)

          root = ::OpenTelemetry::Context::ROOT
          context = ::OpenTelemetry.propagation.extract(message.headers, context: root,
                                                                         getter: Headers)
          context if ::OpenTelemetry::Trace.current_span(context).context.valid?
        end

        def link(context)
          ::OpenTelemetry::Trace::Link.new(::OpenTelemetry::Trace.current_span(context).context)
        end

        def attributes(place)
          { "messaging.system" => "kafka", "messaging.operation.type" => "process",
            "messaging.operation.name" => "process", "messaging.destination.name" => place.topic,
            "messaging.destination.partition.id" => place.partition.to_s,
            "messaging.consumer.group.name" => @group }
        end
      end
    end
  end
end
