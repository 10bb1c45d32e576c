# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Which items of a chunk in hand are begun, in memory that a map shares with its nodes. Each
      # chunk that is handed out has a lane to itself: a word of how many of its items may be begun,
      # and how many are. Both sides change it by adding, so that they always agree: what the map
      # has cut off the node never begins.
      #
      #   claims = Claims.new(2, 1)       # nodes and threads
      #   claims.offer(lane, 100)         # before the chunk is sent
      #   claims.begun(lane, 100)         # => 3
      #   claims.cut(lane, 100)           # => 3, the number of items that the node keeps
      #   page, cell, word = claims.place(lane)   # for Hand, which adds 1 for an item
      #
      # On SharedPage's Ruby fallback, whose sums aren't atomic between processes, nothing is cut.
      class Claims
        SHIFT = 30
        MASK = (1 << SHIFT) - 1
        WORDS = 6 # of a cell that are free, from 2 on
        private_constant :WORDS

        #: (Integer nodes, Integer threads) -> void
        def initialize(nodes, threads)
          @lanes = threads * 2 # a node's: as many chunks again wait at it
          @cells = (@lanes + WORDS - 1) / WORDS
          @page = OS::SharedPage.create(nodes * @cells)
        end

        # A node's lanes.
        #
        #: (Integer slot) -> Array[Integer]
        def lanes(slot) = Array.new(@lanes) { |number| (slot * @lanes) + number }

        #: (Integer lane) -> [OS::SharedPage, Integer cell, Integer word]
        def place(lane)
          slot, number = lane.divmod(@lanes)
          [@page, (slot * @cells) + (number / WORDS), 2 + (number % WORDS)]
        end

        #: (Integer lane, Integer size) -> void
        def offer(lane, size)
          _, cell, word = place(lane)
          @page.set(cell, word, size << SHIFT)
        end

        # Of a chunk of that size.
        #
        #: (Integer lane, Integer size) -> Integer
        def begun(lane, size)
          _, cell, word = place(lane)
          [@page.get(cell, word) & MASK, size].min
        end

        # Lets the node begin nothing more of it. What it begins while we look it keeps.
        #
        #: (Integer lane, Integer size) -> Integer
        def cut(lane, size)
          return size unless OS::SharedPage.native?

          _, cell, word = place(lane)
          claims = @page.get(cell, word)
          limit = claims >> SHIFT
          surplus = limit - [claims & MASK, limit].min
          [@page.add(cell, word, -(surplus << SHIFT)) & MASK, size].min
        end

        # A node's last words.
        #
        #: (Integer slot, String) -> void
        def say(slot, words) = @page.write(slot * @cells, words.byteslice(0, OS::SharedPage::BLOB))

        #: (Integer slot) -> String?
        def said(slot) = @page.read(slot * @cells)

        # For another node.
        #
        #: (Integer slot) -> void
        def clear(slot) = @cells.times { |number| @page.clear((slot * @cells) + number) }

        #: () -> void
        def close = @page.close
      end
      private_constant :Claims
    end
  end
end
