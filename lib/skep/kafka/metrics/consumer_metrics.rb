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
# Publishing takes at most a hundredth of the time, so with a thousand partitions it is rarer.
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
    end
  end
end
