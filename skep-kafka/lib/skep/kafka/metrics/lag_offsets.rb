# frozen_string_literal: true

# Finds the offsets between which lag is counted: where each assigned partition ends, and where
# processing begins before anything is done. PartitionMetrics#update computes
# the lag itself.
#
#   lag_offsets = LagOffsets.new(consumer)
#   lag_offsets.update(metrics, now)     # sends requests to the brokers if some are due
#   lag_offsets.update(metrics, now, { ["orders", 3] => 1234 })   # an end that is known
#   lag_offsets.start_of(key); lag_offsets.end_of(key)      # offsets; nil: not known
#   lag_offsets.schedule(metrics, now)   # after the metrics were updated
#   lag_offsets.due                      # when to update again; nil: only on demand
#
# The end is the high watermark that librdkafka has cached from the last fetch, without a request.
# But nothing is fetched for hours while enough of a partition is queued here: an end offset that
# hasn't moved for a while, with unfinished messages before it, is requested, ever more seldom while
# it doesn't move. The ends of partitions that are caught up come from Consumer::StallMonitor, which
# asks for them every half `stall_timeout`, and every 30 s at least.
#
# The start is the committed offset, or where auto.offset.reset begins. It is requested, once, if no
# batch of the partition has begun after a second: its messages wait for a free thread, or there are
# none. The end is requested, too, if nothing has been fetched from the partition yet.
module Skep
  module Kafka
    module Metrics
      class LagOffsets
        SOON = 1.0 # seconds in which a partition's first batch usually begins
        OLD = 10.0
        LONGEST = 320.0
        TIMEOUT = 2.0 # of a request
        private_constant :SOON, :OLD, :LONGEST, :TIMEOUT

        # cached: librdkafka's; requested: the brokers', of a later time; at: when it was found;
        # wait: seconds until it is requested.
        End = Struct.new(:cached, :requested, :at, :wait)
        # epoch: the PartitionMetrics#assignment_epoch for which it holds.
        Start = Struct.new(:epoch, :offset)
        private_constant :End, :Start

        attr_reader :due # monotonic seconds

        def initialize(consumer)
          @consumer = consumer
          @ends = {}
          @starts = {}
          @retry_after = SOON
        end

        # found: ends that were requested elsewhere (StallMonitor), by partition.
        def update(metrics, now, found = nil)
          @ends.select! { |key, _| metrics.key?(key) }
          @starts.select! { |key, start| current?(start, metrics[key]) }
          metrics.each_key { |key| read_cached_end(key, now) }
          found&.each { |key, offset| take_end(key, offset, now) }
          return unless @due && @due <= now

          request_unknown(metrics, now) if @unknown_due && @unknown_due <= now
          request_ends(behind(metrics), now) if ends_due(metrics)&.<=(now)
        end

        def start_of(key) = @starts[key]&.offset

        def end_of(key) = @ends[key]&.then { |known| known.requested || known.cached }

        def schedule(metrics, now)
          if unknown_starts(metrics).any? || unknown_ends.any?
            @unknown_due ||= now + @retry_after
          else
            @unknown_due = nil
            @retry_after = SOON
          end
          @due = [*@unknown_due, *ends_due(metrics)].min
        end

        def inspect = "#<Skep::Kafka::Metrics::LagOffsets partitions=#{@ends.size}>"

        private

        # A start is of no use once a batch has begun, or after a revocation.
        def current?(start, metrics)
          metrics && start.epoch == metrics.assignment_epoch && !metrics.begun?
        end

        def read_cached_end(key, now)
          cached = @consumer.end_of(*key)
          return if @ends.key?(key) && @ends[key].cached == cached

          @ends[key] = End.new(cached, nil, now, OLD)
        end

        # The cached end is older, unless a fetch came after the request.
        def take_end(key, offset, now)
          known = @ends[key]
          return unless known && offset > known.cached.to_i

          known.requested = offset
          known.at = now
        end

        # Requests what isn't known, ever more seldom as long as it stays unknown.
        def request_unknown(metrics, now)
          @retry_after = [@retry_after * 2, LONGEST].min
          @unknown_due = now + @retry_after
          request_ends(unknown_ends, now) if unknown_ends.any?
          epochs = unknown_starts(metrics).to_h { |key| [key, metrics[key].assignment_epoch] }
          request_starts(epochs) if epochs.any?
        end

        def unknown_ends = @ends.keys.reject { |key| end_of(key) }

        def unknown_starts(metrics)
          metrics.filter_map { |key, one| key unless one.begun? || @starts.key?(key) }
        end

        def behind(metrics) = metrics.filter_map { |key, one| key if one.lag.to_i.positive? }

        # When the first end with unfinished messages before it is too old, in monotonic seconds.
        def ends_due(metrics)
          behind(metrics).map { |key| @ends[key].then { |known| known.at + known.wait } }.min
        end

        def request_ends(keys, now)
          found = @consumer.ends(keys, TIMEOUT)
          keys.each do |key|
            known = @ends[key]
            known.at = now
            next unless found&.key?(key) # no answer: requested again after the same time

            known.wait = found[key] == end_of(key) ? [known.wait * 2, LONGEST].min : OLD
            known.requested = found[key]
          end
        end

        def request_starts(epochs)
          committed = @consumer.committed(epochs.keys, TIMEOUT) or return
          rest = committed.keys.reject { |key| committed[key] }
          found = rest.any? ? @consumer.starts(rest, TIMEOUT).to_h : {}
          committed.compact.merge(found).each do |key, offset|
            @starts[key] = Start.new(epochs[key], offset)
          end
        end
      end
    end
  end
end
