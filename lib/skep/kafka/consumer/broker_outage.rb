# frozen_string_literal: true

# Detects an outage of the whole cluster, and reports its begin and its end, once each. librdkafka
# reports that all brokers are down, but not that one is back, so this requests metadata until a
# broker answers.
#
#   broker_outage = BrokerOutage.new(settings:, consumer:, report:)
#   broker_outage.take_error(event)     # true if it is part of an outage, and needs no other report
#   broker_outage.io                      # readable when a broker has answered; nil otherwise
#   broker_outage.broker_answered         # the outage is over
#   broker_outage.no_answer(code)         # to a request, while librdkafka's events aren't read
#   broker_outage.seconds_left            # until `report_when_certain` has to report; nil otherwise
#
# An outage is reported only after no broker has answered for some seconds: librdkafka counts a
# broker that restarted as down until it needs it again, and its events may come late.
#
# (A metadata request needs a thread. An admin request wouldn't, but one that times out while it
# waits for a broker can abort the process, in librdkafka 2.11.)
module Skep
  module Kafka
    class Consumer
      class BrokerOutage
        SETTLE = 3.0 # seconds
        SILENT = [*Librdkafka::ErrorCode::CONNECTION, Librdkafka::ErrorCode::WAIT_COORD].freeze
        private_constant :SETTLE, :SILENT

        def initialize(settings:, consumer:, report:)
          @settings = settings
          @consumer = consumer
          @report = report
        end

        # Returns true if the error is part of an outage. If all brokers are down, finds out whether
        # it is one.
        def take_error(event)
          return false unless Librdkafka::ErrorCode::CONNECTION.include?(event.code)

          if event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN
            suspect unless suspected?
            return true
          end
          @cause = @report.clean(event.text)
          suspected?
        end

        # A request got this error code while the event loop waits, as for a commit at a revocation:
        # asks whether any broker answers, and reports the outage when that is certain.
        def no_answer(code)
          return unless SILENT.include?(code)

          @cause ||= Librdkafka::Bindings.err2str(code)
          suspect unless suspected?
          io.wait_readable(0) ? broker_answered : report_when_certain
        end

        def io = @query&.io

        def broker_answered
          close
          duration = (OS.now - @since).round(3)
          @report.event(:kafka_reconnected, brokers:, duration:) if @certain
          @since = @cause = nil
          @certain = false
        end

        def report_when_certain
          return if !suspected? || @certain || seconds_left.positive?

          @certain = true
          @report.event(:kafka_disconnected, level: :warn, brokers:, error: @cause,
                                     hint: "skep waits for a broker")
        end

        def seconds_left
          [@certain_at - OS.now, 0].max if suspected? && !@certain
        end

        # Returns true if all brokers seem to be down.
        def suspected? = !@since.nil?

        # Returns true if no broker has answered for a while, so that the outage was reported.
        def certain? = @certain ? true : false

        # Ends the metadata request.
        def close
          @query&.close
          @query = nil
        end

        def inspect
          "#<Skep::Kafka::Consumer::BrokerOutage#{" certain" if certain?}>"
        end

        private

        def suspect
          @since = OS.now
          @certain_at = @since + SETTLE
          @query = Librdkafka::MetadataQuery.new(@consumer, [])
          @query.start
        end

        def brokers = @settings.brokers
      end
    end
  end
end
