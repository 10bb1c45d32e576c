# frozen_string_literal: true

# How long many things took, in little memory: each time is kept to two digits, rounded up, so that
# what is said of them is 5 % wrong at most. Those of several nodes can be added up.
#
#   histogram = Histogram.new
#   histogram.add(1_234_567)             # nanoseconds: one more in the bucket of 1.3 ms
#   histogram.quantile(0.99)             # => 0.00125, seconds; nil where there is none
#   histogram.to_plain                   # => count, sum, p50, p99, buckets: [[0.0013, 1], …]
#   Histogram.merge([plain, plain])      # => Histogram
#
# A bucket [0.0013, 1] has what took more than 1.2 ms and no more than 1.3. There are 90 of those
# from 1 ms to 10 ms, as many from 10 ms to 100 ms, and so on: 901 at most, a few dozen as a rule.
# What takes less than 1 µs counts as 1 µs, what takes more than 10,000 s as 10,000 s. Nothing is
# ever taken out. For one thread at a time.
module Skep
  class Swarm
    module Stats
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
    end
  end
end
