# frozen_string_literal: true

# Counts, rates, handler times and lag of each partition of a node, as `skep status` and the metrics
# page show them. A background thread publishes them to the supervisor when they have changed, once
# a second at most; it sleeps while nothing changes.
#
#   metrics = ConsumerMetrics.new(node:, scheduler:, consumer:, group: "billing")
#   metrics.start
#   metrics.time(slice) { handler.call(batch, node) }
#   metrics.count(slice, :messages, slice.size)    # one of TopicTotals::COUNTS
#   metrics.verdict(slice, :message)               # it has failed: what skep takes for the cause
#   metrics.rebalanced(changed, held)
#   metrics.statistics = client_statistics         # librdkafka's
#   metrics.outage = { since: 12.3, error: "…" }   # no broker answers; nil: one does
#   metrics.close                                  # publishes for the last time
#   metrics.clear                                  # once no thread counts any more
#
# PartitionMetrics has one partition's counts and computes its lag. TopicTotals has the
# sums, which stay when partitions go: of partitions that the node has lost, and of topics, only so
# many are kept. Publishing takes at most a hundredth of the time, so with a thousand partitions it
# is rarer.
module Skep
  module Kafka
    module Metrics
      class ConsumerMetrics
        INTERVAL = 1.0 # seconds
        SHARE = 100 # the interval is at least this times the CPU time of publishing
        URGENT = %i[dead_letters skipped].freeze # published at once, lest a crash loses them
        KEPT = 100 # partitions that were revoked and have rows
        UNASSIGNED = 30.0 # seconds without an assignment, before they are told of
        TIMED = 500 # partitions; if there are more, their rows have no handler times
        TOPICS = Swarm::Stats::WorkTotals::MOST_TOPICS
        OTHER = Swarm::Stats::WorkTotals::OTHER
        private_constant :INTERVAL, :SHARE, :URGENT, :KEPT, :UNASSIGNED, :TIMED, :TOPICS, :OTHER

        # present: each topic's Failure::PresentFailures.
        def initialize(node:, scheduler:, consumer:, group:, present: [], clock: OS.method(:now))
          @node, @scheduler, @group, @present = node, scheduler, group, present
          @lag_offsets = LagOffsets.new(consumer)
          @clock = clock
          @partitions = {}
          @topics = {}
          @rebalances = 0
          @next_at = @free_at = 0.0
          @lock = Mutex.new
          @io, @waker = OS.pipe
          @waker.nonblock = true
        end

        # Continues the counts of an earlier membership of this process, which has ended.
        def continue(former)
          @partitions, @topics = former.partitions, former.topics
          @rebalances = former.rebalances
          all.each_value { |metrics| metrics.held = false }
        end

        # The member waits for its first assignment from here on.
        def start
          @unassigned_since = @clock.call
          @thread = Threads::Background.new("kafka.metrics") { run }
        end

        # Sends the brokers no further request.
        def close
          @stopping = true
          wake
          @thread&.close
          publish
        end

        def clear = [@io, @waker].each(&:close)

        # Measures the block, which handles the slice. That may take long: its lag is published at
        # the beginning.
        def time(slice, &)
          changed
          of(slice.topic, slice.partition).time(slice.first_offset, &)
        end

        def count(slice, name, number = 1)
          of(slice.topic, slice.partition).count(name, number)
          @urgent ||= URGENT.include?(name)
          changed
        end

        def verdict(slice, cause)
          of(slice.topic, slice.partition).verdict(cause)
          changed
        end

        # A partition has messages, and none has come for stall_timeout.
        def stalled(topic, number)
          of(topic, number).count(:stalls)
          changed
        end

        # ends: [topic, number] => the offset after the last message, from the brokers just now.
        def ends_found(ends)
          @found_ends = ends
          changed if ends.any? { |key, offset| @lag_offsets.end_of(key) != offset }
        end

        # They are published too, and parsed on the thread that publishes. An idle node publishes
        # them only if a connection, or its membership, has another state: it shall sleep.
        def statistics=(statistics)
          before, @statistics = @statistics, statistics
          changed unless before&.states == statistics.states
        end

        # since: since when partitions have had messages, and none has come, by topic and number; of
        # those of which that lasts for half of stall_timeout.
        def stalling(since)
          all.each { |key, metrics| metrics.stalling = since[key] }
          changed
        end

        # No broker answers: since when, and the error; nil: one does, and the wait for an
        # assignment begins again.
        def outage=(outage)
          @outage = outage
          @unassigned_since &&= @clock.call
          @urgent = true
          changed
        end

        # A message has shown that the clock of the host that wrote it is so many seconds ahead.
        def clock_ahead=(seconds)
          @clock_ahead = { "seconds" => seconds.round(1), "seen" => @clock.call.round(3) }
          changed
        end

        # A position moved, and there is nothing to count.
        def moved = changed

        # keys: the partitions that were assigned or revoked; held: those that the node has now.
        # assigned: false: the member waits for its next assignment.
        def rebalanced(keys, held, assigned: true)
          @rebalances += 1
          @unassigned_since = (@unassigned_since || @clock.call unless assigned)
          held = held.to_h { |key| [key, true] }
          keys.each do |key|
            of(*key).count(:rebalances)
            of(*key).held = held.key?(key)
          end
          changed
        end

        # Sends the facts to the supervisor, unless it has the same ones. If a full channel doesn't
        # take them, it tries again after the interval.
        def publish
          began = cpu_time
          now = @clock.call
          @changed = @urgent = false
          facts = update(now)
          if facts == @published || @node.__report_work(facts, list: :partitions)
            @published = facts
          else
            @changed = true
          end
          @free_at = now + ((cpu_time - began) * SHARE)
          @next_at = [now + INTERVAL, @free_at].max
        end

        # When to publish again, in monotonic seconds; nil: when something changes.
        def due
          return @free_at if @urgent
          return @next_at if @changed

          [*all.values.filter_map(&:rate_zero_at).max, *@lag_offsets.due, *unassigned_due].min
        end

        def inspect = "#<Skep::Kafka::Metrics::ConsumerMetrics #{@group}>"

        protected

        attr_reader :partitions
        attr_reader :topics
        attr_reader :rebalances

        private

        # Returns since when it has had no assignment; nil if it has one, or if that is short.
        def unassigned_since(now)
          @unassigned_since if @unassigned_since&.<=(now - UNASSIGNED)
        end

        # When that is to be told; nil: it was.
        def unassigned_due
          since = @unassigned_since
          since + UNASSIGNED if since && !@published&.key?(:unassigned_since)
        end

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
            (@partitions[topic] ||= {})[number] ||=
              PartitionMetrics.new(topic, number, @clock.call, totals: totals(topic))
          end
        end

        # The first topics have totals of their own. The others have common ones.
        def totals(topic)
          topic = OTHER unless @topics.key?(topic) || @topics.size < TOPICS
          @topics[topic] ||= TopicTotals.new(topic)
        end

        # Forgets partitions that were revoked, all but those that were revoked last. (Their totals
        # stay, also of a handler that still runs.)
        def prune
          revoked = all.reject { |_, metrics| metrics.held }
          return if revoked.size <= KEPT

          oldest = revoked.min_by(revoked.size - KEPT) { |_, metrics| metrics.changed_at }
          @lock.synchronize do
            oldest.each { |(topic, number), _| @partitions[topic].delete(number) }
            @partitions = @partitions.reject { |_, some| some.empty? }
          end
        end

        def update(now)
          prune
          held = all.select { |_, metrics| metrics.held }
          epochs = held.transform_values(&:assignment_epoch)
          found, @found_ends = @found_ends, nil
          @lag_offsets.update(held, now, found)
          done = @scheduler.positions
          failing, pauses = failures
          held.each do |key, metrics|
            metrics.failing, metrics.paused_until = failing[key], pauses[key]
            position, beyond = done[key]
            metrics.update(epochs[key], position, beyond.to_i, @lag_offsets.start_of(key),
                           @lag_offsets.end_of(key))
          end
          all.each_value { |metrics| metrics.sample(now) }
          @lag_offsets.schedule(held, now)
          facts
        end

        # Returns what fails at present, and until when partitions are paused, by topic and number.
        def failures
          failing = @present.map(&:to_plain).reduce({}, :merge)
          pauses = @present.map(&:pauses).reduce({}, :merge)
          blocked = failing.empty? ? [] : failing.keys & @scheduler.blocked_keys
          blocked.each { |key| failing[key] = { **failing[key], "blocked" => true } }
          [failing, pauses]
        end

        def facts
          metrics = all.sort.map(&:last)
          shown = metrics.select(&:worth_showing?)
          timed = shown.size <= TIMED
          by_topic = @lock.synchronize { @topics.values }.map(&:to_plain)
          totals = { **sums(by_topic), "rebalances" => @rebalances }
          { kind: "kafka", group: @group, messages: totals["messages"],
            lag: metrics.filter_map(&:lag).sum, lag_unknown: metrics.count(&:lag_unknown?),
            rate: metrics.sum(&:rate).round(1), totals:, handler: handler(by_topic), by_topic:,
            client: @statistics&.to_plain, outage: @outage, clock_ahead: @clock_ahead,
            unassigned_since: unassigned_since(@clock.call),
            partitions: shown.map { |one| one.to_plain(timed:) } }.compact
        end

        # Totals, which the supervisor adds up over the lives of all nodes.
        def sums(by_topic)
          all = by_topic.map { |row| row["totals"] }
          TopicTotals::COUNTS.to_h { |name| [name.to_s, all.sum { |counts| counts[name.to_s] }] }
        end

        # Returns the sum of the rows' handler times.
        def handler(rows)
          return rows.first["handler"] if rows.one?

          Swarm::Stats::Histogram.merge(rows.map { |row| row["handler"] }).to_plain
        end
      end
    end
  end
end
