# frozen_string_literal: true

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
    end
  end
end
