# frozen_string_literal: true

# Detects an outage of the whole cluster, and reports its begin and its end, once each. librdkafka
# reports that all brokers are down, but not that one is back, so this requests metadata until a
# broker answers. In a long outage OutageProbe tries a new client.
#
#   broker_outage = BrokerOutage.new(loop:, options:, consumer:, report:, metrics:,
#                                    changed: -> { … })
#   broker_outage.take_error(event)     # true if it is part of an outage, and needs no other report
#   broker_outage.no_answer(code)       # to a request, while the loop doesn't turn
#   broker_outage.session_lost          # the member has lost its partitions, at such a time
#   broker_outage.suspected?; broker_outage.certain?
#
# `changed` is called when an outage begins or ends, unless the loop doesn't turn.
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

        # metrics: get `outage=`, for the status.
        def initialize(loop:, options:, consumer:, report:, changed:, metrics: nil)
          @metrics = metrics
          @loop, @settings, @consumer, @report = loop, options.settings, consumer, report
          @changed = changed
          @probe = OutageProbe.for(options, report, loop)
        end

        # Returns true if the error is part of an outage. If all brokers are down, finds out whether
        # it is one, and also if a request has timed out: a broker that is silent counts as down
        # only once each of its connections has timed out, which takes a minute and more.
        def take_error(event)
          return false unless Librdkafka::ErrorCode::CONNECTION.include?(event.code)

          known = suspected?
          all_down = event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN
          @cause = @report.clean(event.text) unless all_down
          silent = event.code == Librdkafka::ErrorCode::TIMED_OUT
          begin_outage && @changed.call if !known && (all_down || silent)
          all_down || known
        end

        # A request got this error code while the event loop waits, as for a commit at a revocation:
        # asks whether any broker answers, and reports the outage when that is certain.
        def no_answer(code)
          return unless SILENT.include?(code)

          @cause ||= Librdkafka::Bindings.err2str(code)
          begin_outage unless suspected?
          return end_outage if @query.io.wait_readable(0)

          report_outage if OS.now - @since >= SETTLE
        end

        # Heartbeats may have had no answer, and newer versions of librdkafka report nothing else
        # before each connection has timed out.
        def session_lost
          return if @closed

          @cause ||= "the group's session has ended, maybe because heartbeats get no answer"
          begin_outage unless suspected?
        end

        # Returns true if all brokers seem to be down.
        def suspected? = !@since.nil?

        # Returns true if no broker has answered for a while, so that the outage was reported.
        def certain? = @certain ? true : false

        def close
          @closed = true
          stop_asking
        end

        def inspect = "#<Skep::Kafka::Consumer::BrokerOutage#{" certain" if certain?}>"

        private

        # Ends the metadata request.
        def stop_asking
          [*@watch, *@timer].each(&:cancel)
          @query&.close
          @probe&.close
          @query = @watch = @timer = nil
        end

        def begin_outage
          @since = OS.now
          @query = Librdkafka::MetadataQuery.new(@consumer, [])
          @query.start
          @watch = @loop.watch(@query.io) do
            end_outage
            @changed.call
          end
          @timer = @loop.after(SETTLE) { report_outage }
          @probe&.start
          true
        end

        def report_outage
          return if @certain

          @certain = true
          @metrics&.outage = { "since" => @since.round(3), "error" => @cause }
          @report.event(:kafka_disconnected, level: :warn, brokers:, error: @cause,
                                     hint: "skep waits for a broker")
        end

        # A broker has answered.
        def end_outage
          stop_asking
          duration = (OS.now - @since).round(3)
          if @certain
            @metrics&.outage = nil
            @report.event(:kafka_reconnected, brokers:, duration:)
          end
          @since = @cause = nil
          @certain = false
        end

        def brokers = @settings.brokers
      end
    end
  end
end
