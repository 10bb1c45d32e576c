# frozen_string_literal: true

# Figures about a swarm's life: durations, recovery times, totals of work.
#
# Histogram is log-linear and can be merged; WorkTotals adds what nodes say that they have done;
# RecoveryTimes measures how long slots were without a node that works.
module Skep
  class Swarm
    module Stats
      # How long many things took, in little memory: each time is kept to two digits, rounded up, so
      # that what is said of them is 5 % wrong at most. Those of several nodes can be added up.
      #
      #   histogram = Histogram.new
      #   histogram.add(1_234_567)             # nanoseconds: one more in the bucket of 1.3 ms
      #   histogram.quantile(0.99)             # => 0.00125, seconds; nil where there is none
      #   histogram.to_plain                   # => count, sum, p50, p99, buckets: [[0.0013, 1], …]
      #   Histogram.merge([plain, plain])      # => Histogram
      #
      # A bucket [0.0013, 1] has what took more than 1.2 ms and no more than 1.3. There are 90 of
      # those from 1 ms to 10 ms, as many from 10 ms to 100 ms, and so on: 901 at most, a few dozen
      # as a rule. What takes less than 1 µs counts as 1 µs, what takes more than 10,000 s as 10,000
      # s. Nothing is ever taken out. For one thread at a time.
      class Histogram
        LEAST, MOST = 1_000, 10**13 # nanoseconds
        FINEST = 100
        BUCKETS = 1_000
        GREATEST = 10**18 # of a plain one: seconds, and how many
        private_constant :LEAST, :MOST, :FINEST, :BUCKETS, :GREATEST

        class << self
          # What all of these plain ones come to.
          def merge(plain) #: (Array[Hash[String, untyped]]) -> Histogram
            plain.each_with_object(new) { |one, all| all.merge(one) }
          end

          # Is it a plain one, whoever says so? Then it can be added up with any number of others.
          def plain?(value) #: (untyped) -> bool
            return false unless value.is_a?(Hash) && number?(value["sum"]) && count?(value["count"])

            buckets = value["buckets"]
            buckets.is_a?(Array) && buckets.size < BUCKETS && buckets.all? { |one| bucket?(one) } &&
              buckets.sum(&:last) == value["count"]
          end

          # The upper end of the bucket for so many nanoseconds.
          def bucket(nanoseconds) #: (Integer) -> Integer
            taken = nanoseconds.clamp(LEAST, MOST)
            width = width(taken)
            (taken + width - 1) / width * width
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

          # How much is in one bucket there.
          def width(nanoseconds) #: (Integer) -> Integer
            width = FINEST
            width *= 10 while nanoseconds > width * 100
            width
          end
        end

        attr_reader :count #: Integer

        def initialize
          @buckets = Hash.new(0)
          @count = @sum = 0
        end

        def add(nanoseconds) #: (Integer) -> void
          @buckets[Histogram.bucket(nanoseconds)] += 1
          @count += 1
          @sum += nanoseconds
        end

        def merge(plain) #: (Hash[String, untyped]) -> void
          @count += plain["count"]
          @sum += nanoseconds(plain["sum"])
          plain["buckets"].each do |seconds, count|
            @buckets[Histogram.bucket(nanoseconds(seconds))] += count
          end
        end

        # That part of them took no longer than so many seconds.
        def quantile(part, sorted = @buckets.sort) #: (Float, ?Array[[Integer, Integer]]) -> Float?
          return if count.zero?

          left = (part * count).ceil.clamp(1, count)
          bucket, = sorted.find { |_, number| (left -= number) <= 0 }
          (bucket - (Histogram.width(bucket) / 2)) / 1e9
        end

        def to_plain #: () -> Hash[String, untyped]
          sorted = @buckets.sort
          { "count" => count, "sum" => (@sum / 1e9).round(9),
            "p50" => quantile(0.5, sorted), "p99" => quantile(0.99, sorted),
            "buckets" => sorted.map { |bucket, number| [bucket / 1e9, number] } }
        end

        def inspect = "#<#{self.class} count=#{count}>" #: () -> String

        private

        def nanoseconds(seconds) = (seconds * 1e9).round
      end

      # What the nodes of each kind of work have done in all, over the lives of all of them: their
      # works tell "totals", a name and a number each, and "handler", how long things took
      # (Histogram's plain ones), and what one last told is kept when it ends.
      #
      #   totals = WorkTotals.new
      #   totals.keep_of(node)            # it has ended
      #   totals.of(0, live)              # => { "messages" => 1234 }: of work 0, with these nodes
      #   totals.handler(0, live)         # => Histogram's plain one of the same; nil: none was told
      #
      # What the names mean only the work knows.
      class WorkTotals
        MOST = 64 # names that one work may have
        private_constant :MOST

        def initialize #: () -> void
          @past = {}
          @handled = {}
        end

        def keep_of(node) #: (Nodes::NodeProcess) -> void
          return unless node.task

          task = node.task.to_s
          @past[task] = add(@past.fetch(task, {}), told(node))
          @handled[task] = handler(node.task, [node])
        end

        #: (Integer, Array[Nodes::NodeProcess]) -> Hash[String, Numeric]
        def of(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| told(node) }
          now.reduce(@past.fetch(task.to_s, {})) { |sum, one| add(sum, one) }
        end

        #: (Integer, Array[Nodes::NodeProcess]) -> Hash[String, untyped]?
        def handler(task, nodes)
          now = nodes.select { |node| node.task == task }.map { |node| node.work["handler"] }
          all = [@handled[task.to_s], *now].compact
          Histogram.merge(all).to_plain if all.any?
        end

        #: () -> Hash[String, untyped]
        def dump = { "past" => @past, "handled" => @handled }

        def restore(plain) #: (Hash[String, untyped]) -> self
          @past, @handled = plain.fetch("past"), plain.fetch("handled", {})
          self
        end

        def inspect = "#<#{self.class} #{@past}>" #: () -> String

        private

        # Checked when it came (IPC::Messages).
        def told(node) = node.work["totals"] || {}

        def add(sum, one) = sum.merge(one) { |_, before, more| before + more }.first(MOST).to_h
      end

      # How long slots were without a node that works: from the notice of an end to the readiness of
      # who follows, however many tries that takes.
      #
      #   recovery_times = RecoveryTimes.new
      #   recovery_times.lost(node, now)        # it has ended
      #   recovery_times.ready(node, now)       # who has the slot now is ready
      #   recovery_times.forget(slot)           # it is given up
      #   recovery_times.to_plain               # => Histogram's, of all slots together
      #
      # One that was never ready takes nothing away by its end, nor one that is replaced while it
      # works.
      class RecoveryTimes
        def initialize #: () -> void
          @lost = {}
          @histogram = Histogram.new
        end

        def lost(node, now) #: (Nodes::NodeProcess, Float) -> void
          slot = node.slot
          return if node != slot.node || node.retired? || node.kind_of_death != "work"

          @lost[slot.label.to_s] ||= now unless slot.helper? || slot.spare?
        end

        def ready(node, now) #: (Nodes::NodeProcess, Float) -> void
          at = @lost.delete(node.label.to_s) or return
          @histogram.add(((now - at) * 1e9).round)
        end

        def forget(slot) = @lost.delete(slot.label.to_s) #: (Nodes::Slot) -> void

        def to_plain = @histogram.to_plain #: () -> Hash[String, untyped]

        #: () -> Hash[String, untyped]
        def dump = { "lost" => @lost, "histogram" => to_plain }

        def restore(plain) #: (Hash[String, untyped]) -> self
          @lost = plain.fetch("lost")
          @histogram.merge(plain.fetch("histogram"))
          self
        end

        def inspect = "#<#{self.class} #{@histogram.count}>" #: () -> String
      end
    end
  end
end
