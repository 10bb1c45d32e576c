# frozen_string_literal: true

# The time in which no broker can be reached: told once when it begins and once when it is over.
# librdkafka goes on trying by itself meanwhile; it says when the last broker is gone, but not when
# one is back, so that a question is put to the group's coordinator, which is answered then.
#
#   outage.began(event)      # true if that is what the error was about
#   outage.answered(event)   # the answer has come
module Skep
  module Kafka
    class Outage
      PATIENCE = 3600.0 # seconds a question may wait, librdkafka's limit; then it is put again
      private_constant :PATIENCE

      def initialize(tools) #: (Tools) -> void
        @options = tools.options
        @consumer = tools.consumer
        @report = tools.report
      end

      def began(event) #: (Event) -> bool
        return false unless Codes::NETWORK.include?(event.code)

        @cause = @report.clean(event.text) unless event.code == Codes::ALL_BROKERS_DOWN
        return !@since.nil? unless event.code == Codes::ALL_BROKERS_DOWN

        begin_outage unless @since
        true
      end

      def answered(event) #: (Event) -> void
        return unless @since
        return ask if Codes::NETWORK.include?(event.code)

        @report.tell(:kafka_back, brokers:, seconds: (OS.now - @since).round(3))
        @since = nil
      end

      # Is no broker there now?
      def now? = !@since.nil? #: () -> bool

      private

      def begin_outage
        @since = OS.now
        @report.tell(:kafka_lost, level: :warn, brokers:, error: @cause,
                                  note: "waits for a broker to come back")
        ask
      end

      def brokers = @options.settings.brokers

      # Of any partition: what counts is that there is an answer.
      def ask
        Requests.offsets(@consumer, @consumer.control, @options.group, [[@options.topics.first, 0]],
                         PATIENCE)
      end
    end
    private_constant :Outage
  end
end
