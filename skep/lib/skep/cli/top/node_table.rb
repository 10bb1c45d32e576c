# frozen_string_literal: true

module Skep
  module CLI
    module Top
      # The widths of columns in the room there is. Columns with the highest rank are left out
      # first; room that is left goes to columns that can use it, those of the lowest rank first.
      #
      #   columns = [ColumnLayout::Column.new(4, 4, 0), ColumnLayout::Column.new(8, 24, 2)]
      #   ColumnLayout.widths(columns, 80, gap: 2)   # => [4, 24]; nil: the column is left out
      module ColumnLayout
        Column = Struct.new(:least, :most, :rank) # rank 0: never left out

        module_function

        def widths(columns, room, gap:)
          kept = fitting(columns, room, gap).sort_by { |index| columns[index].rank }
          spare = [room - needed(columns.values_at(*kept), gap), 0].max
          widths = Array.new(columns.size)
          kept.each do |index|
            more = [columns[index].most - columns[index].least, spare].min
            widths[index] = columns[index].least + more
            spare -= more
          end
          widths
        end

        # The indices of the columns that fit.
        def fitting(columns, room, gap)
          kept = columns.each_index.select { |index| columns[index].most.positive? }
          while needed(columns.values_at(*kept), gap) > room
            last = kept.max_by { |index| columns[index].rank }
            break if columns[last].rank.zero?

            kept.delete(last)
          end
          kept
        end

        def needed(columns, gap) = columns.sum { |column| column.least + gap } - gap
      end

      # The nodes of a Model as rows, in the columns that fit.
      #
      #   table = NodeTable.new(model, styler, columns: 80)
      #   table.head          # => a line
      #   table.rows(3..9)    # => the lines of these nodes
      #
      # The selected node's line begins with >, and is reversed if there are colours. One with a
      # problem has a !.
      class NodeTable
        # The title, one for a narrow terminal, the least width, the rank, and whether the cells
        # are aligned to the right.
        Heading = Struct.new(:long, :short, :least, :rank, :right)
        HEADINGS = [["node", "node", 4, 0], ["work", "work", 4, 1],
                    ["pid", "pid", 5, 4, true], ["state", "state", 8, 0],
                    ["beat", "beat", 5, 2, true], ["cpu%", "cpu%", 4, 2, true],
                    ["memory", "memory", 6, 6], ["uss", "uss", 6, 1, true],
                    ["shared", "shared", 6, 7, true], ["rate/s", "rate/s", 6, 1, true],
                    ["lag", "lag", 4, 1, true], ["restarts", "rst", 3, 3, true],
                    ["last exit", "exit", 7, 5]].map { |heading| Heading.new(*heading) }.freeze
        WORK, STATE, BAR, LAG, LAST_EXIT = 1, 3, 6, 10, 12
        BAR_MOST = 24
        WORK_MOST = 20
        NARROW = 110 # columns of a terminal
        MARK = 2 # columns
        private_constant :Heading, :HEADINGS, :WORK, :STATE, :BAR, :LAG, :LAST_EXIT, :BAR_MOST,
                         :WORK_MOST, :NARROW, :MARK

        def initialize(model, styler, columns:, marked: true)
          @model = model
          @styler = styler
          @columns = columns
          @marked = marked
          @cells = model.nodes.map { |node| cells(node).map { |cell| UI.clean(cell) } }
          @gap = columns < NARROW ? 1 : 2
          @widths = ColumnLayout.widths(wanted_columns, columns - MARK, gap: @gap)
        end

        def head
          @styler.line([[" " * MARK], *pieces(titles)], @columns, also: :bold)
        end

        def rows(range)
          @model.nodes.each_index.to_a[range].to_a.map { |index| row(index) }
        end

        private

        def row(index)
          node = @model.nodes[index]
          selected = @marked && index == @model.index
          parts = pieces(@cells[index]) { |column| column == BAR ? bar(node) : nil }
          parts[place_of_state].push(UI::Ansi.color_of_node(node))
          trouble = @model.trouble?(node)
          mark = "#{selected ? ">" : " "}#{trouble ? "!" : " "}"
          parts = [[mark, *(:red if trouble)], *parts]
          @styler.line(selected ? parts.map { |part| reverse(part) } : parts, @columns)
        end

        # A bar keeps its colour.
        def reverse(part) = part.include?(:blue) ? part : [part.first, :reverse]

        # Each shown column has two pieces: its cell and the gap behind it.
        def place_of_state = @widths.first(STATE).count(&:itself) * 2

        def pieces(texts)
          shown = texts.each_index.select { |index| @widths[index] }
          shown.flat_map do |index|
            own = yield(index) if block_given?
            [own || [pad(texts[index], index)], [" " * @gap]]
          end
        end

        def titles = HEADINGS.map { |heading| @gap == 1 ? heading.short : heading.long }

        def pad(text, index)
          width = @widths[index]
          text = UI::DisplayWidth.fit(text, width)
          return UI::DisplayWidth.rjust(text, width) if HEADINGS[index].right

          UI::DisplayWidth.ljust(text, width)
        end

        def wanted_columns
          titles.each_with_index.map do |title, index|
            wanted_column(HEADINGS[index], [title, *@cells.map { |cells| cells[index] }], index)
          end
        end

        # The last exit shrinks: one node's reason must not move the columns of all others.
        def wanted_column(heading, texts, index)
          least, rank = heading.least, heading.rank
          return ColumnLayout::Column.new(least, BAR_MOST, rank) if index == BAR
          if [WORK, LAG].include?(index) && texts.drop(1).all?(UI::Humanize::NONE)
            return ColumnLayout::Column.new(0, 0, rank)
          end

          most = [least, *texts.map { |text| UI::DisplayWidth.of(text) }].max
          most = [most, WORK_MOST].min if index == WORK
          ColumnLayout::Column.new(index == LAST_EXIT ? least : most, most, rank)
        end

        def cells(node)
          memory = node["memory"] || {}
          none = UI::Humanize::NONE
          [node["id"], (node["work_name"] if @model.works?) || none, node["pid"] || none,
           node["state"], beat(node["beat_age"]),
           @model.cpu(node)&.round || none, "",
           UI::Humanize.bytes(memory["uss"]), UI::Humanize.bytes(memory["shared"]),
           UI::Humanize.rate(@model.rate(node)), lag(node), node["restarts"],
           UI::Humanize.exit_reason(node["last_exit"])]
        end

        def beat(age) = age ? "#{age.round(age < 100 ? 1 : 0)}s" : UI::Humanize::NONE

        def lag(node)
          lag = node["work"]["lag"]
          UI::Humanize.count(lag.is_a?(Numeric) ? lag : nil)
        end

        # Its length is the node's memory compared with the largest node's.
        def bar(node)
          full, half, empty = @styler.blocks
          room = @widths[BAR]
          own, shared = memory(node)
          whole = (own + shared).zero? ? 0 : [room * (own + shared) / most_memory, 1].max
          part = whole * own / [own + shared, 1].max
          [(full * part) + (half * (whole - part)) + (empty * (room - whole)), :blue]
        end

        def most_memory
          @most_memory ||= @model.nodes.map { |node| memory(node).sum }.max
        end

        def memory(node) = node["memory"].to_h.values_at("uss", "shared").map(&:to_i)
      end
    end
  end
end
