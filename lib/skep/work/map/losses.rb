# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Nodes that died with something in hand: what is to be done again, and which item is to
      # blame. An item may end one node, not two; none where the node said that it left on purpose.
      #
      #   losses = Losses.new
      #   losses.count(node, exit)   # => [Chunk]; or NodeDied
      class Losses
        TOLERATED = 1
        private_constant :TOLERATED

        #: () -> void
        def initialize
          @deaths = Hash.new(0)
        end

        # What it had not begun is handed out again untouched, an item that it was at goes alone.
        # One that died before it began anything is blamed on what it would have begun.
        #
        #: (Node, untyped exit) -> Array[Chunk]
        def count(node, exit)
          chunks = node.chunks.select { |chunk| chunk.size.positive? } # None is left of some.
          suspects = node.begun
          suspects = chunks.first(1).map(&:from) if suspects.empty?
          suspects.each { |index| blame(node, index, exit) }
          chunks.flat_map do |chunk|
            index = suspects.find { |suspect| chunk.cover?(suspect) }
            index ? chunk.split(index) : [chunk]
          end
        end

        private

        #: (Node, Integer index, untyped exit) -> void
        def blame(node, index, exit)
          words = node.last_words
          deaths = @deaths[index] += 1
          return if deaths <= TOLERATED && !words&.start_with?(Child::PURPOSE)

          item = node.chunks.find { |chunk| chunk.cover?(index) }.item(index)
          raise NodeDied.new(item:, index:, pid: node.pid, exit:, deaths:, words:)
        end
      end
      private_constant :Losses
    end
  end
end
