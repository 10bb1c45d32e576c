# frozen_string_literal: true

# Formats figures: three significant digits, no exponent, whole numbers without a point.
#
#   Figures.text(16.482)       # => "16.5"
#   Figures.text(1_234_567)    # => "1,230,000"
#   Figures.text(0.00123456)   # => "0.00123"
module Skep
  module Benchmarks
    module Figures
      DIGITS = 3
      private_constant :DIGITS

      class << self
        def text(value)
          return "-" if value.nil?
          return value.to_s unless value.to_f.finite?

          places = value.is_a?(Integer) ? 0 : [DIGITS - 1 - magnitude(value), 0].max
          whole, rest = format("%.#{places}f", round(value)).split(".")
          [whole.gsub(/(?<=\d)(?=(\d{3})+\z)/, ","), rest].compact.join(".")
        end

        # Rounds to three significant digits.
        def round(value)
          digits = DIGITS - 1 - magnitude(value)
          digits.positive? ? value.to_f.round(digits) : value.round(digits)
        end

        private

        # Returns the power of ten of the first digit after rounding: 1 for 9.996.
        def magnitude(value)
          return 0 if value.zero?

          power = Math.log10(value.abs).floor
          rounded = value.abs.to_f.round(DIGITS - 1 - power)
          rounded.zero? ? power : Math.log10(rounded).floor
        end
      end
    end
  end
end
