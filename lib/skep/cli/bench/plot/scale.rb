# frozen_string_literal: true

# Turns quantities from 0 on to pixels, and finds round numbers to mark.
#
#   scale = Scale.new(9.2, from: 100, to: 700)
#   scale.at(4.6)      # => about the middle
#   scale.ticks        # => [0, 2, 4, 6, 8, 10]
module Skep
  module CLI
    class Bench
      class Plot
        class Scale
          STEPS = [1, 2, 5, 10].freeze
          private_constant :STEPS

          # `to` may lie before `from`: so y grows upwards.
          def initialize(most, from:, to:) #: (Numeric, from: Numeric, to: Numeric) -> void
            @most = most.positive? ? most : 1
            @from = from
            @to = to
          end

          def at(value) = @from + (@to - @from) * value.fdiv(ticks.last) #: (Numeric) -> Float

          # About five; the last is the most, or just beyond.
          def ticks #: () -> Array[Numeric]
            @ticks ||= (0..(@most / step.to_f).ceil).map { |index| index * step }
          end

          private

          def step
            power = 10**Math.log10(@most / 5.0).floor
            STEPS.map { |factor| factor * power }.find { |step| @most <= step * 5 }
          end
        end
        private_constant :Scale
      end
    end
  end
end
