# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # What numbers were over the last quarter of an hour, one in each STEP seconds: to be drawn.
      #
      #   series = Series.new
      #   series.add({ "lag" => 12 }, now)  # => the point of the step that is over now, if one is
      #   series.to_h(now)                  # => {step:, at:, lines: {"lag" => [nil, 12, …]}, …}
      #
      # Of more than MOST lines those that came last aren't kept.
      class Series
        STEP = 3.0
        STEPS = 300
        MOST = 400
        private_constant :STEP, :STEPS, :MOST

        def initialize #: () -> void
          @lines = {}
          @last = nil
        end

        #: (Hash[String, Numeric?], Float) -> Hash[Symbol, untyped]?
        def add(numbers, now)
          at = step(now)
          over = @last && at > @last[:at] ? @last : nil
          keep(over) if over
          @last = { at:, numbers: numbers.compact.first(MOST).to_h }
          over
        end

        def to_h(now) #: (Float) -> Hash[Symbol, untyped]
          first = step(now) - STEPS
          { step: STEP, steps: STEPS, at: step(now),
            lines: @lines.transform_values { |points| line(points, first) } }
        end

        private

        def step(now) = (now / STEP).floor

        def keep(point)
          point[:numbers].each do |name, value|
            (@lines[name] ||= {})[point[:at]] = value if @lines.key?(name) || @lines.size < MOST
          end
          @lines.each_value { |points| points.shift while old?(points, point[:at]) }
          @lines.delete_if { |_, points| points.empty? }
        end

        def old?(points, now) = points.any? && points.first[0] <= now - STEPS

        def line(points, first) = (first...(first + STEPS)).map { |at| points[at] }
      end
      private_constant :Series
    end
  end
end
