# frozen_string_literal: true

# Draws SVG: text, rectangles, lines and dots, at pixels from the upper left.
#
#   canvas = Canvas.new(800, 400)
#   canvas.text(10, 20, "R&D", anchor: :end)
#   canvas.rectangle(10, 30, 100, 12, colour: Canvas::COLOURS[0])
#   canvas.svg
#
# Source: Scalable Vector Graphics 1.1.
module Skep
  module CLI
    class Bench
      class Plot
        class Canvas
          # Told apart by the colour-blind too. Source: Okabe and Ito, "Color Universal Design".
          COLOURS = %w[#0072b2 #d55e00 #009e73 #cc79a7 #e69f00 #56b4e9].freeze
          GREY = "#666666"
          INK = "#222222"
          FONT = "system-ui, Helvetica, Arial, sans-serif"
          private_constant :FONT

          def initialize(width, height) #: (Integer, Integer) -> void
            @width = width
            @height = height
            @elements = []
          end

          #: (Numeric, Numeric, String, ?size: Integer, ?anchor: Symbol, ?bold: bool,
          #:   ?colour: String) -> void
          def text(x, y, text, size: 12, anchor: :start, bold: false, colour: INK)
            attributes = { x:, y:, "font-size" => size, "text-anchor" => anchor, fill: colour }
            attributes["font-weight"] = "bold" if bold
            add("text", attributes, text.encode("UTF-8").encode(xml: :text))
          end

          #: (Numeric, Numeric, Numeric, Numeric, colour: String) -> void
          def rectangle(x, y, width, height, colour:)
            add("rect", { x:, y:, width:, height:, fill: colour })
          end

          # From point to point.
          #: (Array[[Numeric, Numeric]], ?colour: String, ?width: Numeric) -> void
          def line(points, colour: GREY, width: 1)
            places = points.map { |point| point.map { |place| place.to_f.round(1) }.join(",") }
            add("polyline", { points: places.join(" "), fill: "none", stroke: colour,
                              "stroke-width" => width })
          end

          #: (Numeric, Numeric, colour: String) -> void
          def dot(x, y, colour:) = add("circle", { cx: x, cy: y, r: 3.5, fill: colour })

          def svg #: () -> String
            <<~SVG
              <?xml version="1.0" encoding="UTF-8"?>
              <svg xmlns="http://www.w3.org/2000/svg" width="#{@width}" height="#{@height}" viewBox="0 0 #{@width} #{@height}" font-family="#{FONT}">
              <rect width="100%" height="100%" fill="#ffffff"/>
              #{@elements.join("\n")}
              </svg>
            SVG
          end

          private

          def add(name, attributes, content = nil)
            pairs = attributes.map do |key, value|
              value = value.round(1) if value.is_a?(Float)
              "#{key}=#{value.to_s.encode(xml: :attr)}"
            end
            tag = "<#{name} #{pairs.join(" ")}"
            @elements << (content ? "#{tag}>#{content}</#{name}>" : "#{tag}/>")
          end
        end
        private_constant :Canvas
      end
    end
  end
end
