# frozen_string_literal: true

# Reads from the page what a node's threads tell of themselves (Pulse writes it).
#
#   signs = Signs.new(page, cells)
#   signs.of(node)          # => [Liveness::Sign, …]: the node's own, and of each thread at work
#   signs.ill_since(node)   # => when it said `unhealthy!`, unless it made progress since; or nil
#   signs.in_hand(node, 2)  # => ["orders/0/17-42 at 25", …], thread 2's first
#   signs.held(node)        # => [["orders/0/17-42", 25], …]
#   signs.weight(node)      # => when it counted its pages, and what (Weighing.find); nil: not yet
module Skep
  class Swarm
    class Signs
      def initialize(page, cells) #: (OS::Page, Cells) -> void
        @page = page
        @cells = cells
      end

      # A worker thread with nothing in hand owes nothing.
      def of(node) #: (Node) -> Array[Liveness::Sign]
        own, *others = *@cells.all(node.slot)
        at_work = others.filter_map do |cell|
          held_since = seconds(cell, Cells::HELD_SINCE)
          sign(cell, cell - own, held_since) if held_since.positive?
        end
        [sign(own, 0, node.ready_at || 0.0), *at_work]
      end

      def ill_since(node) #: (Node) -> Float?
        @cells.all(node.slot).map { |cell| seconds(cell, Cells::ILL_SINCE) }.select(&:positive?).min
      end

      def in_hand(node, thread = 0) #: (Node, ?Integer) -> Array[String]
        held(node, thread).map { |held| Suspects.name(*held) }
      end

      # Each thing's name, and which part of it was given out last, if that was told. A node can
      # write there what it likes.
      #: (Node, ?Integer) -> Array[[String, Integer?]]
      def held(node, thread = 0)
        own = @cells.of(node.slot)
        cells = [own + thread, *@cells.all(node.slot)].uniq
        cells.filter_map do |cell|
          text = @page.read(cell).to_s.scrub
          [text, at(cell)] unless text.empty?
        end
      end

      #: (Node) -> [Float, Hash[String, untyped]]?
      def weight(node) = Weighing.find(@page, @cells.memory(node.slot))

      private

      def sign(cell, thread, since)
        at = [seconds(cell, OS::Page::BEAT), since].max
        Liveness::Sign.new(cell, thread, at, seconds(cell, Cells::BUSY_UNTIL))
      end

      def at(cell)
        part = @page.get(cell, Cells::AT)
        part.zero? ? nil : part - 1
      end

      def seconds(cell, word) = @page.get(cell, word) / 1e9
    end
  end
end
