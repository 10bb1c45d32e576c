# frozen_string_literal: true

# A commit whose requests were sent.
#
#   pending = consumer.begin_commit([["orders", 3, 42]])
#   pending.wait(5.0)    # => an error code; 0 is success
module Skep
  module Kafka
    class Consumer
      class PendingCommit
        # requests: [offsets, queue of the answer, error code of the request].
        def initialize(consumer, requests)
          @consumer, @requests = consumer, requests
        end

        # Waits for the answers, up to so many seconds. Call it once.
        def wait(seconds)
          deadline = OS.now + seconds
          codes = @requests.map do |offsets, answers, code|
            next code unless code.zero?

            answer(offsets, answers, deadline)
          end
          codes.find(&:nonzero?) || 0
        ensure
          @requests.each { |_, answers| answers.close }
        end

        def inspect = "#<Skep::Kafka::Consumer::PendingCommit requests=#{@requests.size}>"

        private

        # (A broker that refuses metadata does so once in a client's life.)
        def answer(offsets, answers, deadline)
          refused = false
          code = answers.wait([deadline - OS.now, 0].max) do |event|
            refused = @consumer.forgo_metadata(event)
            event.code
          end
          return @consumer.commit(offsets, [deadline - OS.now, 0].max) if refused

          code || Librdkafka::ErrorCode::TIMED_OUT
        end
      end
    end
  end
end
