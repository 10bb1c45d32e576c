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
        #
        #: (Node, untyped exit) -> Array[Chunk]
        def count(node, exit)
          suspects = suspects(node)
          suspects.each { |index| blame(node, index, exit, node.last_words) }
          node.chunks.select { |chunk| chunk.size.positive? }.flat_map do |chunk|
            index = suspects.find { |suspect| chunk.cover?(suspect) }
            index ? chunk.split(index) : [chunk]
          end
        end

        private

        # What died before it began anything is blamed on what it would have begun.
        #
        #: (Node) -> Array[Integer]
        def suspects(node)
          node.begun.then { |begun| begun.empty? ? node.chunks.first(1).map(&:from) : begun }
        end

        #: (Node, Integer index, untyped exit, String? words) -> void
        def blame(node, index, exit, words)
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
