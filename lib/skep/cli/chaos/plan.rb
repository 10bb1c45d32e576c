# frozen_string_literal: true

# What is to be done, and when: the same for the same seed.
#
#   plan = Plan.new(rates: { kill: 12.0 }, seconds: 60.0, patience: 90.0, seed: 7)
#   plan.errors       # => [] or sentences
#   plan.deeds        # => [[0.8, :kill], [4.1, :kill], …], seconds from the beginning
#   plan.random       # for whom, by which signal
#
# Deeds of a kind come at random at its rate, as telephone calls do: a Poisson process.
module Skep
  module CLI
    class Chaos
      class Plan
        MOST = 6_000.0 # a minute
        private_constant :MOST

        attr_reader :seconds, :patience #: Float
        attr_reader :seed #: Integer
        attr_reader :random #: Random

        #: (rates: Hash[Symbol, Float], seconds: Float, patience: Float, seed: Integer) -> void
        def initialize(rates:, seconds:, patience:, seed:)
          @rates = rates
          @seconds = seconds
          @patience = patience
          @seed = seed
          @random = Random.new(seed)
        end

        def errors #: () -> Array[String]
          wrong = @rates.reject { |_, rate| rate.between?(0, MOST) }
          [*("--seconds #{seconds} can't be: give more than 0" unless seconds.positive?),
           *("--patience #{patience} can't be: give 0 or more" if patience.negative?),
           *wrong.map { |kind, rate| "--#{kind}-rate #{rate} can't be: give 0 to #{MOST.round}" }]
        end

        def deeds #: () -> Array[[Float, Symbol]]
          @deeds ||= @rates.flat_map { |kind, rate| times(rate).map { |at| [at, kind] } }.sort
        end

        def kinds = @rates.select { |_, rate| rate.positive? }.keys #: () -> Array[Symbol]

        def to_s #: () -> String
          counts = deeds.map(&:last).tally.map { |kind, count| "#{count} #{kind}" }
          "#{seconds.round} s, seed #{seed}: #{counts.empty? ? "nothing" : counts.join(", ")}"
        end

        private

        def times(rate)
          return [] if rate.zero?

          gaps = Enumerator.produce { -Math.log(1 - @random.rand) * 60 / rate }
          gaps.lazy.drop(1).each_with_object([]) do |gap, all|
            at = (all.last || 0.0) + gap
            return all if at >= seconds

            all << at
          end
        end
      end
      private_constant :Plan
    end
  end
end
