# frozen_string_literal: true

# A figure that follows from several rows, such as the slope of a line through them.
#
#   Finding.new(name: "each mapping", figure: 0.31, unit: "µs", note: "R² 0.998")
module Skep
  module CLI
    class Bench
      Finding = Struct.new(:name, :figure, :unit, :note, keyword_init: true)

      class Finding
        def to_s #: () -> String
          "#{name}: #{Figures.text(figure)} #{unit}#{" (#{note})" if note}"
        end

        def to_h #: () -> Hash[Symbol, untyped]
          { name:, figure: figure && Figures.round(figure), unit:, note: }
        end
      end
    end
  end
end
