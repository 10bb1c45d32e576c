# frozen_string_literal: true

# Statistics of a swarm for its status and metrics.
#
# Histogram is log-linear, and histograms of several nodes can be merged. WorkTotals adds up what
# nodes report as done. RecoveryTimes measures how long slots are without a working node.
module Skep
  class Swarm
    module Stats
      # A log-linear histogram of durations. It keeps two digits of each duration, rounded up, so a
      # quantile is off by 5% at most.
      #
      #   histogram = Histogram.new
      #   histogram.add(1_234_567)             # nanoseconds: counted in the bucket of 1.3 ms
      #   histogram.quantile(0.99)             # => 0.00125, seconds; nil if it is empty
      #   histogram.to_plain                   # => count, sum, p50, p99, buckets: [[0.0013, 1], …]
      #   Histogram.merge([plain, plain])      # => Histogram
      #
      # The bucket [0.0013, 1] counts durations above 1.2 ms, up to 1.3 ms. Each power of ten has 90
      # buckets, so there are 901 at most, usually a few dozen. Durations below 1 µs count as 1 µs,
      # above 10,000 s as 10,000 s. Counts never decrease. It isn't thread-safe.
      class Histogram
        LEAST, MOST = 1_000, 10**13 # nanoseconds
        FINEST = 100
        BUCKETS = 1_000
        GREATEST = 10**18 # of seconds and counts in plain data
        private_constant :LEAST, :MOST, :FINEST, :BUCKETS, :GREATEST

        class << self
          # Returns the sum of histograms, each as plain data. Many have the same buckets: those are
          # added up first.
          def merge(plain)
            buckets = Hash.new(0)
            plain.each { |one| one["buckets"].each { |bound, count| buckets[bound] += count } }
            new.tap do |all|
              all.merge({ "count" => plain.sum { |one| one["count"] },
                          "sum" => plain.sum { |one| one["sum"] }, "buckets" => buckets })
            end
          end

          # Returns true if a value from another process is a valid histogram, which `merge` takes.
          def plain?(value)
            return false unless value.is_a?(Hash) && number?(value["sum"]) && count?(value["count"])

            buckets = value["buckets"]
            buckets.is_a?(Array) && buckets.size < BUCKETS && buckets.all? { |one| bucket?(one) } &&
              buckets.sum(&:last) == value["count"]
          end

          # Returns the upper bound of the bucket for a duration in nanoseconds.
          def bucket(nanoseconds)
            nanoseconds = nanoseconds.clamp(LEAST, MOST)
            width = width(nanoseconds)
            (nanoseconds + width - 1) / width * width
          end

          def number?(value)
            (value.is_a?(Integer) || (value.is_a?(Float) && value.finite?)) &&
              value.between?(0, GREATEST)
          end

          def count?(value) = value.is_a?(Integer) && value.between?(0, GREATEST)

          def bucket?(value)
            value.is_a?(Array) && value.size == 2 && number?(value.first) && count?(value.last)
          end
          private :number?, :count?, :bucket?

          # Returns the width of the bucket for a duration in nanoseconds.
          def width(nanoseconds)
            width = FINEST
            width *= 10 while nanoseconds > width * 100
            width
          end
        end

        attr_reader :count

        def initialize
          @buckets = Hash.new(0)
          @count = @sum = 0
        end

        def add(nanoseconds)
          @buckets[Histogram.bucket(nanoseconds)] += 1
          @count += 1
          @sum += nanoseconds
        end

        def merge(plain)
          @count += plain["count"]
          @sum += nanoseconds(plain["sum"])
          plain["buckets"].each do |seconds, count|
            @buckets[Histogram.bucket(nanoseconds(seconds))] += count
          end
        end

        # Returns the seconds that this share of the durations doesn't exceed.
        def quantile(share, sorted = @buckets.sort)
          return if count.zero?

          left = (share * count).ceil.clamp(1, count)
          bucket, = sorted.find { |_, number| (left -= number) <= 0 }
          (bucket - (Histogram.width(bucket) / 2)) / 1e9
        end

        def to_plain
          sorted = @buckets.sort
          { "count" => count, "sum" => (@sum / 1e9).round(9),
            "p50" => quantile(0.5, sorted), "p99" => quantile(0.99, sorted),
            "buckets" => sorted.map { |bucket, number| [bucket / 1e9, number] } }
        end

        def inspect = "#<#{self.class} count=#{count}>"

        private

        def nanoseconds(seconds) = (seconds * 1e9).round
      end

      # Totals of each kind of work, over all nodes that exist and have existed. Nodes report
      # "totals", numbers by name, and "handler", a Histogram as plain data; also for each topic, in
      # "by_topic". When a node ends, its last report is added to the past.
      #
      #   totals = WorkTotals.new
      #   totals.add_exited(node)
      #   totals.of(0, live)         # => { "messages" => 1234 }: of work 0, with these live nodes
      #   totals.handler(0, live)    # => its Histogram as plain data; nil if none was reported
      #   totals.by_topic(0, live)   # => [{ "topic" => "orders", "totals" => …, … }]
      #
      # The names belong to the work. WorkTotals only adds the numbers. Of too many names it keeps
      # those that it saw first, as long as the swarm runs: if others replaced them, totals would
      # fall, which Prometheus takes for a reset.
      class WorkTotals
        MOST = 64 # names of one kind of work
        MOST_TOPICS = 50 # further ones are added up as OTHER
        OTHER = "other"
        private_constant :MOST

        # The first names, in the order of first sight.
        class Names
          def initialize(most)
            @most = most
            @all = {}
          end

          # Returns true if it is one of them.
          def keep?(name)
            @all[name] = true if @all.size < @most
            @all.key?(name)
          end
        end
        private_constant :Names

        def initialize
          @past = {}
          @handlers = {}
          @topics = {}
          # By work.
          @names = Hash.new { |all, task| all[task] = Names.new(MOST) }
          @topic_names = Hash.new { |all, task| all[task] = Names.new(MOST_TOPICS) }
          @names_by_topic = Hash.new { |all, task| all[task] = Names.new(MOST) }
        end

        def add_exited(node)
          return unless node.task

          task = node.task.to_s
          @past[task] = of(node.task, [node])
          @handlers[task] = handler(node.task, [node])
          @topics[task] = by_topic(node.task, [node])
        end

        def of(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| reported(node) }
          add([@past[task.to_s], *now].compact, @names[task])
        end

        def handler(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| node.work["handler"] }
          all = [@handlers[task.to_s], *now].compact
          Histogram.merge(all).to_plain if all.any?
        end

        def by_topic(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| node.work["by_topic"] }
          reports = [*@topics[task.to_s], *now.compact.flatten]
          names = @topic_names[task]
          topics = reports.group_by { |one| names.keep?(one["topic"]) ? one["topic"] : OTHER }
          topics.map do |topic, some|
            { "topic" => topic,
              "totals" => add(some.map { |one| one["totals"] }, @names_by_topic[task]),
              "handler" => Histogram.merge(some.map { |one| one["handler"] }).to_plain }
          end
        end

        def inspect = "#<#{self.class} #{@past}>"

        private

        # IPC::Messages has checked it when it arrived.
        def reported(node) = node.work["totals"] || {}

        def add(totals, names)
          sums = totals.reduce({}) { |sum, one| sum.merge(one) { |_, before, more| before + more } }
          sums.select { |name, _| names.keep?(name) }
        end
      end

      # Measures how long slots are without a working node: from the exit of a node until the next
      # node of its slot is ready, including failed attempts to boot.
      #
      #   recovery_times = RecoveryTimes.new
      #   recovery_times.lost(node, now)        # a node has exited
      #   recovery_times.ready(node, now)       # the next node of its slot is ready
      #   recovery_times.forget(slot)           # the slot is removed
      #   recovery_times.to_plain               # => Histogram of all slots, as plain data
      #
      # The exit of a node that was never ready doesn't count. Nor does that of a node that is being
      # replaced: its successor is ready already.
      class RecoveryTimes
        def initialize
          @lost = {}
          @histogram = Histogram.new
        end

        def lost(node, now)
          slot = node.slot
          return if node != slot.node || node.retired? || node.kind_of_death != "work"

          @lost[slot.label.to_s] ||= now unless slot.helper? || slot.spare?
        end

        def ready(node, now)
          at = @lost.delete(node.label.to_s) or return
          @histogram.add(((now - at) * 1e9).round)
        end

        def forget(slot) = @lost.delete(slot.label.to_s)

        def to_plain = @histogram.to_plain

        def inspect = "#<#{self.class} #{@histogram.count}>"
      end
    end
  end
end
