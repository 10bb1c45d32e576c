# frozen_string_literal: true

# In an outage of `stall_timeout` or longer, tries whether a new client would reach a broker. A
# client knows the addresses that the cluster has told it: if all brokers were replaced, or another
# cluster is behind the same name, it may wait for the old ones for ever.
#
#   probe = OutageProbe.new(options, report)
#   probe.io                 # readable when a broker has answered the new client; nil otherwise
#   probe.look(outage: true) # raises NodeStalled if the new client has an answer and the old none
#   probe.seconds_left       # until `look` must be called; nil without an outage
#   probe.close
module Skep
  module Kafka
    class Consumer
      class OutageProbe
        GRACE = 5.0 # seconds for the old client, once a broker has answered the new one
        WHAT = "the brokers, which answer a new client,"
        HINT = "skep replaces this node"
        ERROR = "a broker answers a new client, and none this one"
        private_constant :GRACE, :WHAT, :HINT, :ERROR

        # Returns nil without `stall_timeout`.
        def self.for(options, report) = (new(options, report) if options.stall_timeout)

        def initialize(options, report)
          @options, @report = options, report
        end

        def io = (@query&.io unless @answered_at)

        def seconds_left
          [@due - OS.now, 0].max if @due && (@query.nil? || @answered_at)
        end

        def look(outage:)
          return close unless outage

          now = OS.now
          @since ||= now
          @due ||= now + @options.stall_timeout
          answered(now) if io&.wait_readable(0)
          return if now < @due

          @answered_at ? replace(now) : start
        end

        # Ends the new client.
        def close
          @query&.close
          @client&.close
          @query = @client = @since = @due = @answered_at = nil
        end

        def inspect = "#<Skep::Kafka::Consumer::OutageProbe#{" open" if @client}>"

        private

        def start
          return if @query

          @client = Librdkafka::Client.new(@options.settings.admin(@options.group),
                                           type: Librdkafka::Bindings::CONSUMER)
          @query = Librdkafka::MetadataQuery.new(@client, [])
          @query.start
        end

        # Without an answer, or with an error, another new client follows after stall_timeout.
        def answered(now)
          code, = @query.answer&.fetch(nil, nil)
          return end_client(now) unless code&.zero?

          @answered_at = now
          @due = now + GRACE
        end

        def end_client(now)
          since = @since
          close
          @since, @due = since, now + @options.stall_timeout
        end

        def replace(now)
          seconds = (now - @since).round(1)
          @report.event(:kafka_stalled, level: :warn, duration: seconds, error: ERROR, hint: HINT)
          raise NodeStalled.new(what: WHAT, seconds:)
        end
      end
    end
  end
end
