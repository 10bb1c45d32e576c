# frozen_string_literal: true

# Counts and handler times of a topic since the node's start, with those of partitions that the node
# has lost since. Thread-safe.
#
#   totals = TopicTotals.new("orders")
#   totals.count(:messages, 500)
#   totals.count(:verdict_message, 1)   # a failure: what skep takes for its cause
#   totals.took(1_234_567)      # the handler, in nanoseconds
#   totals.to_plain             # => { "topic" => "orders", "totals" => …, "handler" => … }
module Skep
  module Kafka
    module Metrics
      class TopicTotals
        COUNTS = %i[messages batches retries failures dead_letters skipped filtered rebalances
                    stalls].freeze

        def initialize(topic)
          @topic = topic
          @counts = COUNTS.to_h { |name| [name, 0] }
          @counts.default = 0
          @durations = Swarm::Stats::Histogram.new
          @lock = Mutex.new
        end

        def count(name, number)
          @lock.synchronize { @counts[name] += number }
        end

        def took(nanoseconds)
          @lock.synchronize do
            @durations.add(nanoseconds)
            @counts[:batches] += 1
          end
        end

        def to_plain
          @lock.synchronize do
            { "topic" => @topic, "totals" => @counts.transform_keys(&:to_s),
              "handler" => @durations.to_plain }
          end
        end

        def inspect = "#<Skep::Kafka::Metrics::TopicTotals #{@topic}>"
      end
    end
  end
end
