# frozen_string_literal: true

# The nodes of a View as rows, in the columns that fit.
#
#   table = Table.new(view, paint, columns: 80)
#   table.head          # => a line
#   table.rows(3..9)    # => those nodes' lines
#
# The selected one has a mark, and its line is turned round where there are colours.
module Skep
  module CLI
    class Top < Command
      class Table
        # Heading, where there is little room, columns at the least, rank (what goes first where
        # there is no room has the highest), to the right?
        Heading = Struct.new(:long, :short, :least, :rank, :right)
        HEADINGS = [["node", "node", 4, 0], ["pid", "pid", 5, 4, true], ["state", "state", 8, 0],
                    ["beat", "beat", 5, 2, true], ["cpu%", "cpu%", 4, 2, true],
                    ["memory", "memory", 6, 6], ["uss", "uss", 6, 1, true],
                    ["shared", "shared", 6, 7, true], ["rate/s", "rate/s", 6, 1, true],
                    ["lag", "lag", 4, 1, true], ["restarts", "rst", 3, 3, true],
                    ["last exit", "exit", 7, 5]].map { |heading| Heading.new(*heading) }.freeze
        BAR, LAG, LAST_EXIT = 5, 9, 11
        BAR_MOST = 24
        NARROW = 110 # columns of a terminal
        MARK = "> "
        private_constant :Heading, :HEADINGS, :BAR, :LAG, :LAST_EXIT, :BAR_MOST, :NARROW,
                         :MARK

        #: (View, Paint, columns: Integer, ?marked: bool) -> void
        def initialize(view, paint, columns:, marked: true)
          @view = view
          @paint = paint
          @columns = columns
          @marked = marked
          @cells = view.nodes.map { |node| cells(node).map { |cell| Text.clean(cell) } }
          @gap = columns < NARROW ? 1 : 2
          @widths = Layout.widths(wishes, columns - MARK.size, gap: @gap)
        end

        def head
          @paint.line([[" " * MARK.size], *pieces(headings)], @columns, also: :bold)
        end

        def rows(range) #: (Range[Integer]) -> Array[String]
          @view.nodes.each_index.to_a[range].to_a.map { |index| row(index) }
        end

        private

        def row(index)
          node = @view.nodes[index]
          here = @marked && index == @view.index
          parts = pieces(@cells[index]) { |column| column == BAR ? bar(node) : nil }
          parts[widths_before(2)].push(Colours.of_node(node))
          parts = [[here ? MARK : " " * MARK.size], *parts]
          @paint.line(here ? parts.map { |part| chosen(part) } : parts, @columns)
        end

        # A bar stays what it is.
        def chosen(part) = part.include?(:blue) ? part : [part.first, :reverse]

        # The place of a column's piece: each that is shown has one, and one for the gap.
        def widths_before(column) = @widths.first(column).count(&:itself) * 2

        def pieces(texts)
          shown = texts.each_index.select { |index| @widths[index] }
          shown.flat_map do |index|
            own = yield(index) if block_given?
            [own || [set(texts[index], index)], [" " * @gap]]
          end
        end

        def headings = HEADINGS.map { |heading| @gap == 1 ? heading.short : heading.long }

        def set(text, index)
          width = @widths[index]
          text = Text.fit(text, width)
          HEADINGS[index].right ? Text.rjust(text, width) : Text.ljust(text, width)
        end

        def wishes
          headings.each_with_index.map do |heading, index|
            wish(HEADINGS[index], [heading, *@cells.map { |cells| cells[index] }], index)
          end
        end

        # As steady as can be: what a node does isn't to move what is told of the others.
        def wish(heading, texts, index)
          least, rank = heading.least, heading.rank
          return Layout::Column.new(least, BAR_MOST, rank) if index == BAR
          return Layout::Column.new(0, 0, rank) if index == LAG && texts.drop(1).all?(Figures::NONE)

          most = [least, *texts.map { |text| Text.width(text) }].max
          Layout::Column.new(index == LAST_EXIT ? least : most, most, rank)
        end

        def cells(node)
          memory = node["memory"] || {}
          [node["id"], node["pid"] || Figures::NONE, node["state"], beat(node["beat_age"]),
           @view.figures.cpu[node["id"]]&.round || Figures::NONE, "",
           Figures.bytes(memory["uss"]), Figures.bytes(memory["shared"]),
           Figures.rate(@view.figures.rate[node["id"]]), lag(node), node["restarts"],
           last_exit(node["last_exit"])]
        end

        def beat(age) = age ? "#{age.round(age < 100 ? 1 : 0)}s" : Figures::NONE

        def lag(node)
          lag = node["work"]["lag"]
          Figures.count(lag.is_a?(Numeric) ? lag : nil)
        end

        def last_exit(ended)
          return Figures::NONE unless ended

          how = ended["signal"] ? "SIG#{ended["signal"]}" : ended["status"]
          [how, ended["reason"]].compact.join(" ")
        end

        # As long as its memory is among the others'.
        def bar(node)
          full, half, empty = @paint.blocks
          room = @widths[BAR]
          own, shared = memory(node)
          whole = (own + shared).zero? ? 0 : [room * (own + shared) / most, 1].max
          part = whole * own / [own + shared, 1].max
          [full * part + half * (whole - part) + empty * (room - whole), :blue]
        end

        def most
          @most ||= @view.nodes.map { |node| memory(node).sum }.max
        end

        def memory(node) = node["memory"].to_h.values_at("uss", "shared").map(&:to_i)
      end
      private_constant :Table
    end
  end
end
