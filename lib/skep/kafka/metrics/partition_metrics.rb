# frozen_string_literal: true

# One partition's metrics since the node started: counts that only grow, handler times, rate and
# lag. It is kept when the partition is revoked.
#
#   metrics.time(first_offset) { handler.call(batch, child) }
#   metrics.count(:messages, 500)
#   metrics.update(assignment_epoch, position, start, end_)
#   metrics.sample(now)                    # for the rate
#   metrics.to_plain                       # => a row of `skep status --json`
#
# Thread-safe.
module Skep
  module Kafka
    module Metrics
      class PartitionMetrics
        COUNTS = %i[messages batches retries dead_letters skipped filtered rebalances].freeze
        WINDOW = 10.0 # seconds over which a rate is measured
        SAMPLE = 0.5 # seconds between two samples
        private_constant :WINDOW, :SAMPLE

        attr_reader :held #: bool, is the partition assigned to this node?
        attr_reader :assignment_epoch #: Integer, how often it was assigned or revoked
        attr_reader :lag #: Integer?, unfinished messages; nil: not assigned, or not known yet
        attr_reader :rate #: Float, messages a second

        def initialize(topic, number, now) #: (String, Integer, Float) -> void
          @topic, @number = topic, number
          @counts = COUNTS.to_h { |name| [name, 0] }
          @durations = Swarm::Stats::Histogram.new
          @samples = [[now, 0]]
          @rate = 0.0
          @assignment_epoch = 0
          @lock = Mutex.new
        end

        def count(name, number = 1) #: (Symbol, ?Integer) -> void
          @lock.synchronize { @counts[name] += number }
        end

        # Measures the block, which handles a batch that begins at the offset.
        def time(offset) #: (Integer) { () -> untyped } -> untyped
          @begun ||= offset
          began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          yield
        ensure
          took = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began
          @lock.synchronize do
            @durations.add(took)
            @counts[:batches] += 1
          end
        end

        # The partition was assigned to this node, or revoked.
        def held=(held) #: (bool) -> void
          @lock.synchronize do
            @held = held
            @assignment_epoch += 1
            @position = @end = @lag = @begun = nil
          end
        end

        # Returns true once a handler was called since the assignment.
        def begun? = !@begun.nil? #: () -> bool

        # Updates the lag; ignored if the partition was revoked since that epoch. position: the
        # offset after what is done, nil if nothing is; start: where processing begins; end_: the
        # offset after the last message. Each may be unknown (nil).
        #: (Integer, Integer?, Integer?, Integer?) -> void
        def update(epoch, position, start, end_)
          @lock.synchronize do
            next unless held && epoch == @assignment_epoch

            @end = end_
            @position = position || @begun || start
            @lag = @end && @position && [@end - @position, 0].max
          end
        end

        # Updates the rate, also of a revoked partition, where it falls to zero.
        def sample(now) #: (Float) -> void
          messages = @lock.synchronize { @counts[:messages] }
          @samples << [now, messages] if now - @samples.last.first >= SAMPLE
          @samples.shift while @samples.size > 2 && @samples[1].first <= now - WINDOW
          since, before = @samples.first
          @rate = now > since ? ((messages - before) / (now - since)).round(1) : 0.0
        end

        # When the rate will be zero if nothing more is done, in monotonic seconds.
        #: () -> Float?
        def rate_zero_at = rate.zero? ? nil : @samples.last.first + WINDOW + SAMPLE

        # Returns false for a partition that was revoked before its first batch.
        def worth_showing? = held || @counts[:batches].positive? #: () -> bool

        def counts = @lock.synchronize { @counts.dup } #: () -> Hash[Symbol, Integer]

        def durations #: () -> Hash[String, untyped]
          @lock.synchronize do
            next @plain if @plain && @plain["count"] == @durations.count

            @plain = @durations.to_plain.freeze
          end
        end

        def to_plain #: () -> Hash[String, untyped]
          { "topic" => @topic, "partition" => @number, "held" => held ? true : false,
            "position" => @position, "end" => @end, "lag" => lag, "rate" => rate,
            **counts.transform_keys(&:to_s), "handler" => durations }
        end

        def inspect
          "#<Skep::Kafka::Metrics::PartitionMetrics #{@topic}/#{@number} lag=#{lag.inspect}>"
        end #: () -> String
      end
    end
  end
end
