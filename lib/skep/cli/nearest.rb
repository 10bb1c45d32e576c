# frozen_string_literal: true

# What somebody may have meant.
#
#   Nearest.to("staus", %w[status stop])     # => "status"; nil where nothing is near
module Skep
  module CLI
    module Nearest
      MOST = 2 # letters that are wrong, and one in three at the most
      private_constant :MOST

      module_function

      def to(word, names) #: (String, Array[String]) -> String?
        name, distance = names.map { |one| [one, distance(word, one)] }.min_by(&:last)
        name if name && distance <= [MOST, [word.size / 3, 1].max].min
      end

      # Letters put in, left out, other ones, or two exchanged (Damerau's).
      def distance(from, to)
        rows = [(0..to.size).to_a]
        from.each_char.with_index(1) do |char, at|
          rows << to.each_char.with_index(1).each_with_object([at]) do |(other, column), row|
            near = [rows.last[column] + 1, row.last + 1,
                    rows.last[column - 1] + (char == other ? 0 : 1)]
            near << (rows[-2][column - 2] + 1) if exchanged?(from, to, at, column)
            row << near.min
          end
        end
        rows.last.last
      end

      def exchanged?(from, to, at, column)
        at > 1 && column > 1 && from[at - 1] == to[column - 2] && from[at - 2] == to[column - 1]
      end
    end
    private_constant :Nearest
  end
end
