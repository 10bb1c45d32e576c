# frozen_string_literal: true

# Counts, rates, handler times and lag of each partition of a node, as `skep status` and the metrics
# page show them. A background thread publishes them to the supervisor when they have changed, once
# a second at most; it sleeps while nothing changes.
#
#   metrics = ConsumerMetrics.new(child:, scheduler:, consumer:, group: "billing")
#   metrics.start
#   metrics.time(batch) { handler.call(batch, child) }
#   metrics.count(batch, :messages, batch.size)    # one of PartitionMetrics::COUNTS
#   metrics.rebalanced(changed, held)
#   metrics.close                                  # publishes for the last time
#   metrics.clear                                  # once no thread counts any more
#
# PartitionMetrics (below) has one partition's counts and lag. Publishing takes at most a hundredth
# of the time, so with a thousand partitions it is rarer.
module Skep
  module Kafka
    module Metrics
      class ConsumerMetrics
        INTERVAL = 1.0 # seconds
        SHARE = 100 # the interval is at least this times the CPU time of publishing
        URGENT = %i[dead_letters skipped].freeze # published at once, lest a crash loses them
        private_constant :INTERVAL, :SHARE, :URGENT

        #: (child: Child, scheduler: Processing::Scheduler, consumer: Consumer, group: String,
        #:   ?clock: ^() -> Float) -> void
        def initialize(child:, scheduler:, consumer:, group:, clock: OS.method(:now))
          @child, @scheduler, @group = child, scheduler, group
          @lag_estimator = LagEstimator.new(consumer)
          @clock = clock
          @partitions = {}
          @rebalances = 0
          @next_at = @free_at = 0.0
          @lock = Mutex.new
          @io, @waker = OS.pipe
          @waker.nonblock = true
        end

        def start #: () -> void
          @thread = Threads::Background.new("kafka.metrics") { run }
        end

        # Sends the brokers no further request.
        def close #: () -> void
          @stopping = true
          wake
          @thread&.close
          publish
        end

        def clear = [@io, @waker].each(&:close) #: () -> void

        def time(batch, &) = of(batch.topic, batch.partition).time(batch.first_offset, &)

        #: (Batch, Symbol, ?Integer) -> void
        def count(batch, name, number = 1)
          of(batch.topic, batch.partition).count(name, number)
          @urgent ||= URGENT.include?(name)
          changed
        end

        # A position moved, and there is nothing to count.
        def moved = changed #: () -> void

        # keys: the partitions that were assigned or revoked; held: those that the node has now.
        #: (Array[[String, Integer]], Array[[String, Integer]]) -> void
        def rebalanced(keys, held)
          @rebalances += 1
          keys.each do |key|
            of(*key).count(:rebalances)
            of(*key).held = held.include?(key)
          end
          changed
        end

        # Forgets the positions in these partitions, of a topic that was created again.
        def begin_again(keys) #: (Array[[String, Integer]]) -> void
          keys.each { |key| of(*key).held = true }
          changed
        end

        # Sends the facts to the supervisor, unless it has the same ones.
        def publish #: () -> void
          began = cpu_time
          now = @clock.call
          @changed = @urgent = false
          facts = update(now)
          @child.work = @published = facts unless facts == @published
          @free_at = now + ((cpu_time - began) * SHARE)
          @next_at = [now + INTERVAL, @free_at].max
        end

        # When to publish again, in monotonic seconds; nil: when something changes.
        def due #: () -> Float?
          return @free_at if @urgent
          return @next_at if @changed

          [*all.values.filter_map(&:rate_zero_at).max, *@lag_estimator.due].min
        end

        def inspect = "#<Skep::Kafka::Metrics::ConsumerMetrics #{@group}>" #: () -> String

        private

        # Seconds of CPU that this thread has used.
        def cpu_time = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

        def run
          until @stopping
            left = due&.-(@clock.call)
            next publish if left && !left.positive?

            @io.wait_readable(left)
            @io.read_nonblock(64, exception: false)
          end
        end

        def changed
          return if @stopping || (@changed && !@urgent)

          @changed = true
          wake
        end

        def wake = @waker.write_nonblock("!", exception: false)

        def all
          @lock.synchronize do
            @partitions.flat_map do |topic, some|
              some.map { |number, metrics| [[topic, number], metrics] }
            end.to_h
          end
        end

        def of(topic, number) = @partitions[topic]&.[](number) || add(topic, number)

        def add(topic, number)
          @lock.synchronize do
            (@partitions[topic] ||= {})[number] ||= PartitionMetrics.new(topic, number, @clock.call)
          end
        end

        def update(now)
          held = all.select { |_, metrics| metrics.held }
          epochs = held.transform_values(&:assignment_epoch)
          @lag_estimator.update(held, now)
          done = @scheduler.done.to_h { |topic, number, offset| [[topic, number], offset] }
          held.each do |key, metrics|
            metrics.update(epochs[key], done[key], @lag_estimator.start_of(key),
                           @lag_estimator.end_of(key))
          end
          all.each_value { |metrics| metrics.sample(now) }
          @lag_estimator.schedule(held, now)
          facts
        end

        def facts
          metrics = all.sort.map(&:last)
          rows = metrics.select(&:worth_showing?).map(&:to_plain)
          totals = sums(rows)
          { kind: "kafka", group: @group, messages: totals["messages"],
            lag: metrics.filter_map(&:lag).sum, rate: metrics.sum(&:rate).round(1), totals:,
            handler: Swarm::Stats::Histogram.merge(rows.map { |row| row["handler"] }).to_plain,
            partitions: rows }
        end

        # Totals, which the supervisor adds up over the lives of all nodes.
        def sums(rows)
          sums = PartitionMetrics::COUNTS.to_h { |name| [name.to_s, rows.sum { |row| row[name.to_s] }] }
          { **sums, "rebalances" => @rebalances }
        end
      end

      # One partition's metrics since the node started: counts that only grow, handler times, rate
      # and lag. It is kept when the partition is revoked.
      #
      #   metrics.time(first_offset) { handler.call(batch, child) }
      #   metrics.count(:messages, 500)
      #   metrics.update(assignment_epoch, position, start, end_)
      #   metrics.sample(now)                    # for the rate
      #   metrics.to_plain                       # => a row of `skep status --json`
      #
      # Thread-safe.
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
