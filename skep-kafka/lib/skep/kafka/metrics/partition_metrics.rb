# frozen_string_literal: true

# One partition's metrics since the node started: counts that only grow, handler times, rate
# and lag. It is kept for a while when the partition is revoked. It counts for the totals of
# its topic as well. Thread-safe.
#
#   metrics.time(first_offset) { handler.call(batch, node) }
#   metrics.count(:messages, 500)
#   metrics.update(assignment_epoch, position, beyond, start, end_)
#   metrics.sample(now)                    # for the rate
#   metrics.to_plain                       # => a row of `skep status --json`
#
# `update` computes the lag of `skep status` and the metrics page. It counts from the offset
# after what is done, committed or not, to the end of the partition, without what is done
# behind that offset (`ordered_by: :key`). LagOffsets finds the end,
# and the start before anything is done. `skep kafka lag` counts from the committed offset
# instead (Admin::ConsumerGroupLag).
module Skep
  module Kafka
    module Metrics
      class PartitionMetrics
        WINDOW = 10.0 # seconds over which a rate is measured
        SAMPLE = 0.5 # seconds between two samples
        private_constant :WINDOW, :SAMPLE

        attr_reader :held # is the partition assigned to this node?
        attr_reader :assignment_epoch # how often it was assigned or revoked
        attr_reader :lag # unfinished messages; nil: not assigned, or not known yet
        attr_reader :rate # messages a second
        attr_reader :changed_at # when it was assigned or revoked: places in their order
        attr_writer :failing # what fails at present, see Failure::PresentFailures; nil: nothing
        attr_writer :paused_until # monotonic seconds; nil: the handler has asked for no pause

        # totals: TopicTotals.
        def initialize(topic, number, now, totals:)
          @topic, @number, @totals = topic, number, totals
          @counts = TopicTotals::COUNTS.to_h { |name| [name, 0] }
          @durations = Swarm::Stats::Histogram.new
          @samples = [[now, 0]]
          @rate = 0.0
          @assignment_epoch = 0
          @changed_at = OS.now
          @lock = Mutex.new
        end

        def count(name, number = 1)
          @lock.synchronize { @counts[name] += number }
          @totals.count(name, number)
        end

        def verdict(cause) = @totals.count(:"verdict_#{cause}", 1)

        # Measures the block, which handles a batch that begins at the offset.
        def time(offset)
          @begun ||= offset
          began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          yield
        ensure
          took = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began
          @lock.synchronize do
            @durations.add(took)
            @counts[:batches] += 1
          end
          @totals.took(took)
        end

        # The partition was assigned to this node, or revoked.
        def held=(held)
          @lock.synchronize do
            @held = held
            @assignment_epoch += 1
            @changed_at = OS.now
            @position = @end = @lag = @begun = @failing = @paused_until = @stalling = nil
          end
        end

        # Since when it has had messages, and none has come; nil: that isn't so. It is over once its
        # position moves.
        def stalling=(since)
          @lock.synchronize { @stalling = held && since ? [since, @position] : nil }
        end

        # Returns true once a handler was called since the assignment.
        def begun? = !@begun.nil?

        # Updates the lag; ignored if the partition was revoked since that epoch. position: the
        # offset after what is done, nil if nothing is; beyond: how many offsets behind it are done,
        # too; start: where processing begins; end_: the offset after the last message. Offsets may
        # be unknown (nil).
        def update(epoch, position, beyond, start, end_)
          @lock.synchronize do
            next unless held && epoch == @assignment_epoch

            @end = end_
            @position = position || @begun || start
            @stalling = nil if @stalling && @stalling.last != @position
            @lag = @end && @position && [@end - @position - beyond, 0].max
          end
        end

        # Updates the rate, also of a revoked partition, where it falls to zero.
        def sample(now)
          messages = @lock.synchronize { @counts[:messages] }
          @samples << [now, messages] if now - @samples.last.first >= SAMPLE
          @samples.shift while @samples.size > 2 && @samples[1].first <= now - WINDOW
          since, before = @samples.first
          @rate = now > since ? ((messages - before) / (now - since)).round(1) : 0.0
        end

        # When the rate will be zero if nothing more is done, in monotonic seconds.
        def rate_zero_at = rate.zero? ? nil : @samples.last.first + WINDOW + SAMPLE

        # Returns true if the partition is assigned to this node, and its lag isn't known (yet).
        def lag_unknown? = held && lag.nil? ? true : false

        # Returns false for a partition that was revoked before its first batch.
        def worth_showing? = held || @counts[:batches].positive?

        def counts = @lock.synchronize { @counts.dup }

        def durations
          @lock.synchronize do
            next @plain if @plain && @plain["count"] == @durations.count

            @plain = @durations.to_plain.freeze
          end
        end

        # timed: with the handler's times.
        def to_plain(timed: true)
          plain = { "topic" => @topic, "partition" => @number, "held" => held ? true : false,
                    "position" => @position, "end" => @end, "lag" => lag, "rate" => rate,
                    **counts.transform_keys(&:to_s) }
          plain["failing"] = @failing if @failing
          plain["stalling_since"] = @stalling.first.round(3) if @stalling
          plain["paused_until"] = @paused_until.round(3) if @paused_until
          plain["lag_unknown_since"] = @changed_at.round(3) if lag_unknown?
          timed ? { **plain, "handler" => durations } : plain
        end

        def inspect
          "#<Skep::Kafka::Metrics::PartitionMetrics #{@topic}/#{@number} lag=#{lag.inspect}>"
        end
      end
    end
  end
end
