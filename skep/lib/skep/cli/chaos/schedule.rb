# frozen_string_literal: true

# Which faults are injected, and when: the same for the same seed.
#
#   schedule = Schedule.new(rates: { kill: 12.0 }, seconds: 60.0, recovery_timeout: 90.0, seed: 7)
#   schedule.errors       # => [] or sentences
#   schedule.times        # => [[0.8, :kill], [4.1, :kill], …], seconds from the start
#   schedule.random       # chooses the nodes and the signals
#
# The faults of a kind are a Poisson process of its rate: they come at random, independently.
module Skep
  module CLI
    module Chaos
      class Schedule
        MOST = 6_000 # a minute
        private_constant :MOST

        attr_reader :seconds, :recovery_timeout, :seed, :random

        def initialize(rates:, seconds:, recovery_timeout:, seed:)
          @rates = rates
          @seconds = seconds
          @recovery_timeout = recovery_timeout
          @seed = seed
          @random = Random.new(seed)
        end

        def errors
          [*wrong("--seconds", "more than 0", seconds, seconds.positive?),
           *wrong("--recovery-timeout", "0 or more", recovery_timeout, recovery_timeout >= 0),
           *@rates.flat_map do |kind, rate|
             wrong("--#{kind}-rate", "between 0 and #{MOST}", rate, rate.between?(0, MOST))
           end]
        end

        def times
          @times ||= @rates.flat_map { |kind, rate| times_of(rate).map { |at| [at, kind] } }.sort
        end

        def kinds = @rates.select { |_, rate| rate.positive? }.keys

        def to_s
          counts = times.map(&:last).tally.map { |kind, count| "#{count} #{kind}" }
          "#{seconds.round} s, seed #{seed}: #{counts.empty? ? "nothing" : counts.join(", ")}"
        end

        private

        def wrong(flag, rule, value, right)
          right ? [] : ["#{flag} must be #{rule} (got #{format("%g", value)})"]
        end

        def times_of(rate)
          return [] if rate.zero?

          gaps = Enumerator.produce { -Math.log(1 - @random.rand) * 60 / rate }
          gaps.lazy.drop(1).each_with_object([]) do |gap, all|
            at = (all.last || 0.0) + gap
            return all if at >= seconds

            all << at
          end
        end
      end
    end
  end
end
