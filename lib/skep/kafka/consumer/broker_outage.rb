# frozen_string_literal: true

# The time in which no broker can be reached: told once when it begins and once when it is over.
# librdkafka goes on trying by itself meanwhile; it says when the last broker is gone, but not when
# one is back, so that the cluster is asked something until it answers.
#
#   broker_outage.began(event)      # true if that is what the error was about
#   broker_outage.io                # readable when somebody has answered; nil while all is well
#   broker_outage.over              # so it is told
#   broker_outage.seconds_left      # until `look` has something to tell; nil without that
#
# It may be wrong: a broker that went and came back counts as gone until it is needed again, so that
# of three that are restarted one after the other all are called gone at last; and news from before
# may come after the cluster is back. So it is told only when nobody has answered for a while.
#
# What is asked for is metadata. (A request of librdkafka's admin API would need no thread, but one
# that times out while it waits for a broker can abort the process, in 2.11.)
module Skep
  module Kafka
    class Consumer
      class BrokerOutage
        SETTLE = 3.0 # seconds
        private_constant :SETTLE

        def initialize(tools) #: (Processing::Tools) -> void
          @options = tools.options
          @consumer = tools.consumer
          @report = tools.report
        end

        def began(event) #: (Librdkafka::EventQueue::Event) -> bool
          return false unless Librdkafka::ErrorCode::CONNECTION.include?(event.code)

          @cause = @report.clean(event.text) unless event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN
          return now? unless event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN

          begin_outage unless now?
          true
        end

        def io = @question&.io #: () -> IO?

        def over #: () -> void
          close
          @report.tell(:kafka_back, brokers:, seconds: (OS.now - @since).round(3)) if @told
          @since = nil
          @told = false
        end

        # Tells of the outage once it is certain.
        def look #: () -> void
          return if !now? || @told || seconds_left.positive?

          @told = true
          @report.tell(:kafka_lost, level: :warn, brokers:, error: @cause,
                                    note: "waits for a broker to come back")
        end

        def seconds_left = now? && !@told ? [@tell_at - OS.now, 0].max : nil #: () -> Float?

        # Is no broker there now?
        def now? = !@since.nil? #: () -> bool

        # Returns true if nobody has answered for a while, so that it was reported.
        def certain? = @told ? true : false #: () -> bool

        # Asks no more.
        def close #: () -> void
          @question&.close
          @question = nil
        end

        private

        def begin_outage
          @since = OS.now
          @tell_at = @since + SETTLE
          @question = MetadataQuery.new(@consumer, [])
          @question.start
        end

        def brokers = @options.settings.brokers
      end
    end
  end
end
