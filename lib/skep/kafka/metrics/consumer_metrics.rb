# frozen_string_literal: true

# What `skep status` and metrics tell of a node: counts, rates, handler times and lag of each of its
# partitions, told to the supervisor when they have changed, once a second at most. A thread of its
# own does it, which sleeps while nothing changes.
#
#   metrics = ConsumerMetrics.new(tools)
#   metrics.start
#   metrics.time(batch) { handler.call(batch, child) }
#   metrics.count(batch, :messages, batch.size)    # one of PartitionMetrics::COUNTS
#   metrics.rebalanced(changed, held)
#   metrics.close                                  # tells for the last time
#   metrics.clear                                  # once nobody has anything to count any more
#
# Telling may take a hundredth of the time: who has a thousand partitions tells less often.
module Skep
  module Kafka
    module Metrics
      class ConsumerMetrics
        EVERY = 1.0 # seconds between two tellings
        SHARE = 100 # of the time; what telling takes times that is what it waits at least
        URGENT = %i[dead_letters skipped].freeze # what no death of the node's should cost
        private_constant :EVERY, :SHARE, :URGENT

        #: (Processing::Tools, ?clock: ^() -> Float) -> void
        def initialize(tools, clock: OS.method(:now))
          @child, @scheduler, @group = tools.child, tools.scheduler, tools.options.group
          @lag_estimator = LagEstimator.new(tools.consumer)
          @clock = clock
          @gauges = {}
          @rebalances = 0
          @next_at = @free_at = 0.0
          @lock = Mutex.new
          @io, @wakeup_pipe = OS.pipe
          @wakeup_pipe.nonblock = true
        end

        def start #: () -> void
          @thread = Threads::Background.new("kafka.meter") { serve }
        end

        # Asks the brokers nothing any more.
        def close #: () -> void
          @stopping = true
          ring
          @thread&.close
          tell
        end

        def clear = [@io, @wakeup_pipe].each(&:close) #: () -> void

        def time(batch, &) = gauge(batch.topic, batch.partition).time(batch.first_offset, &)

        #: (Batch, Symbol, ?Integer) -> void
        def count(batch, name, number = 1)
          gauge(batch.topic, batch.partition).count(name, number)
          @urgent ||= URGENT.include?(name)
          changed
        end

        def moved = changed #: () -> void, a position did, with nothing to count

        # Partitions came or went; held: those that the node has now.
        #: (Array[[String, Integer]], Array[[String, Integer]]) -> void
        def rebalanced(keys, held)
          @rebalances += 1
          keys.each do |key|
            gauge(*key).count(:rebalances)
            gauge(*key).held = held.include?(key)
          end
          changed
        end

        # What was done of these counts for nothing: they are read from their beginning.
        def begin_again(keys) #: (Array[[String, Integer]]) -> void
          keys.each { |key| gauge(*key).held = true }
          changed
        end

        # Tells how things stand, if that isn't known already.
        def tell #: () -> void
          began = spent
          now = @clock.call
          @changed = @urgent = false
          facts = look(now)
          @child.work = @told = facts unless facts == @told
          @free_at = now + ((spent - began) * SHARE)
          @next_at = [now + EVERY, @free_at].max
        end

        # When to tell again, in monotonic seconds; nil: not before something changes.
        def due #: () -> Float?
          return @free_at if @urgent
          return @next_at if @changed

          [*all.values.filter_map(&:settles_at).max, *@lag_estimator.look_at].min
        end

        def inspect = "#<Skep::Kafka::Metrics::ConsumerMetrics #{@group}>" #: () -> String

        private

        # Seconds of this thread's work, without its waiting for answers.
        def spent = Process.clock_gettime(Process::CLOCK_THREAD_CPUTIME_ID)

        def serve
          until @stopping
            left = due&.-(@clock.call)
            next tell if left && !left.positive?

            @io.wait_readable(left)
            @io.read_nonblock(64, exception: false)
          end
        end

        def changed
          return if @stopping || (@changed && !@urgent)

          @changed = true
          ring
        end

        def ring = @wakeup_pipe.write_nonblock("!", exception: false)

        def all
          @lock.synchronize do
            @gauges.flat_map { |topic, some| some.map { |number, gauge| [[topic, number], gauge] } }
                   .to_h
          end
        end

        def gauge(topic, number) = @gauges[topic]&.[](number) || add(topic, number)

        def add(topic, number)
          @lock.synchronize do
            (@gauges[topic] ||= {})[number] ||= PartitionMetrics.new(topic, number, @clock.call)
          end
        end

        def look(now)
          held = all.select { |_, gauge| gauge.held }
          turns = held.transform_values(&:turn)
          @lag_estimator.look(held, now)
          done = @scheduler.done.to_h { |topic, number, offset| [[topic, number], offset] }
          held.each do |key, gauge|
            gauge.look(turns[key], done[key], @lag_estimator.begin(key), @lag_estimator.end(key))
          end
          all.each_value { |gauge| gauge.sample(now) }
          @lag_estimator.plan(held, now)
          facts
        end

        def facts
          gauges = all.sort.map(&:last)
          rows = gauges.select(&:tells?).map(&:to_plain)
          totals = sums(rows)
          { kind: "kafka", group: @group, messages: totals["messages"],
            lag: gauges.filter_map(&:lag).sum, rate: gauges.sum(&:rate).round(1), totals:,
            handler: Swarm::Stats::Histogram.merge(rows.map { |row| row["handler"] }).to_plain,
            partitions: rows }
        end

        # What the supervisor adds up over the lives of all nodes.
        def sums(rows)
          sums = PartitionMetrics::COUNTS.to_h { |name| [name.to_s, rows.sum { |row| row[name.to_s] }] }
          { **sums, "rebalances" => @rebalances }
        end
      end
    end
  end
end
