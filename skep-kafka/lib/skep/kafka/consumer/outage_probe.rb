# frozen_string_literal: true

# In an outage of `stall_timeout` or longer, tries whether a new client would reach a broker. A
# client knows the addresses that the cluster has told it: if all brokers were replaced, or another
# cluster is behind the same name, it may wait for the old ones for ever.
#
#   probe = OutageProbe.for(options, report, loop)   # nil without `stall_timeout`
#   probe.start   # an outage begins; a timer of the loop raises NodeStalled if the new client has
#                 # an answer and the old none
#   probe.close   # the outage is over
module Skep
  module Kafka
    class Consumer
      class OutageProbe
        GRACE = 5.0 # seconds for the old client, once a broker has answered the new one
        WHAT = "the brokers, which answer a new client,"
        HINT = "skep replaces this node"
        ERROR = "a broker answers a new client, and none this one"
        private_constant :GRACE, :WHAT, :HINT, :ERROR

        def self.for(options, report, loop)
          new(options, report, loop) if options.stall_timeout
        end

        def initialize(options, report, loop)
          @options, @report, @loop = options, report, loop
        end

        def start
          @since = OS.now
          try_later
        end

        # Ends the new client.
        def close
          [*@timer, *@watch].each(&:cancel)
          @query&.close
          @client&.close
          @query = @client = @timer = @watch = nil
        end

        def inspect = "#<Skep::Kafka::Consumer::OutageProbe#{" open" if @client}>"

        private

        def try_later
          @timer = @loop.after(@options.stall_timeout) { try_new_client }
        end

        def try_new_client
          @client = Librdkafka::Client.new(@options.settings.admin(@options.group),
                                           type: Librdkafka::Bindings::CONSUMER)
          @query = Librdkafka::MetadataQuery.new(@client, [])
          @query.start
          @watch = @loop.watch(@query.io) { answered }
        end

        # Without an answer, or with an error, another new client follows after stall_timeout.
        def answered
          code, = @query.answer&.fetch(nil, nil)
          close
          return try_later unless code&.zero?

          @timer = @loop.after(GRACE) { replace_node }
        end

        def replace_node
          seconds = (OS.now - @since).round(1)
          @report.event(:kafka_stalled, level: :warn, duration: seconds, error: ERROR, hint: HINT)
          raise NodeStalled.new(what: WHAT, seconds:)
        end
      end
    end
  end
end
