# frozen_string_literal: true

# Medians, quartiles and straight lines.
#
#   Statistics.median([3, 1, 2])               # => 2.0
#   Statistics.quartiles([1, 2, 3, 4])         # => [1.75, 2.5, 3.25]
#   Statistics.line([[0, 1.0], [10, 21.0]])    # => Line with slope 2.0, intercept 1.0, r2 1.0
#
# Quartiles are interpolated between two samples. Source: Hyndman and Fan, "Sample
# Quantiles in Statistical Packages" (1996), definition 7.
module Skep
  module Benchmarks
    module Statistics
      Line = Struct.new(:slope, :intercept, :r2, keyword_init: true)

      class << self
        def median(samples) = quantile(samples.sort, 0.5)

        # Returns the first quartile, the median and the third quartile.
        def quartiles(samples)
          sorted = samples.sort
          [0.25, 0.5, 0.75].map { |share| quantile(sorted, share) }
        end

        # Returns the least-squares line through points. r2 is the share of explained variance.
        def line(points)
          mean_x, mean_y = points.transpose.map { |values| values.sum.fdiv(values.size) }
          spread_x, spread_y = points.transpose.zip([mean_x, mean_y]).map do |values, mean|
            values.sum { |value| (value - mean)**2 }
          end
          both = points.sum { |x, y| (x - mean_x) * (y - mean_y) }
          slope = both.fdiv(spread_x)
          Line.new(slope:, intercept: mean_y - slope * mean_x, r2: share(slope * both, spread_y))
        end

        private

        def quantile(sorted, share)
          raise ArgumentError, "there are no samples" if sorted.empty?

          place = (sorted.size - 1) * share
          low, high = sorted[place.floor], sorted[place.ceil]
          low + (high - low) * (place - place.floor).to_f
        end

        # A horizontal line explains equal values completely.
        def share(explained, all) = all.zero? ? 1.0 : explained.fdiv(all)
      end
    end
  end
end
