# frozen_string_literal: true

module Skep
  class Web
    module Live
      # What nodes and events report, as plain data of a bounded size that keeps its structure, so
      # that the page shows it as lists and not as cut JSON.
      #
      #   BoundedFacts.new(entries: 60, text: 200).of({ "a" => [1, { "b" => "long …" }] })
      #
      # entries: of all Hashes and Arrays together, and the most of each. What is left out is one
      # entry more: "…" => "40 more". Numbers that JSON hasn't become text.
      class BoundedFacts
        DEPTH = 5
        private_constant :DEPTH

        def initialize(entries:, text:)
          @left = @most = entries
          @text = text
        end

        def of(value, depth = 0)
          case value
          when Hash, Array then depth < DEPTH ? inner(value, depth) : text(value)
          when Float then value.finite? ? value : value.to_s
          when Integer, true, false, nil then value
          else short(value.to_s)
          end
        end

        private

        def text(value) = short(JSON.generate(value, allow_nan: true))

        def inner(value, depth)
          taken = value.first([@left, @most].min)
          @left -= taken.size
          left_out = value.size - taken.size
          return list(taken, left_out, depth) if value.is_a?(Array)

          all = taken.to_h { |name, one| [short(name.to_s), of(one, depth + 1)] }
          left_out.positive? ? { **all, "…" => "#{left_out} more" } : all
        end

        def list(taken, left_out, depth)
          all = taken.map { |one| of(one, depth + 1) }
          left_out.positive? ? [*all, "#{left_out} more"] : all
        end

        def short(text) = text.size > @text ? "#{text[0, @text]}…" : text
      end
    end
  end
end
