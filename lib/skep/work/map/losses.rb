# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Nodes that died with something in hand: what is to be done again, and which item is to
      # blame. An item may end one node, not two.
      #
      #   losses = Losses.new
      #   losses.count(node, exit, items: [44], words: nil)   # => [Chunk]; or NodeDied
      class Losses
        TOLERATED = 1
        private_constant :TOLERATED

        #: () -> void
        def initialize
          @deaths = Hash.new(0)
        end

        # `items` are the places of those that it had begun. What it had not is handed out again
        # untouched, an item that it was at goes alone.
        #
        #: (Node, untyped exit, items: Array[Integer], words: String?) -> Array[Chunk]
        def count(node, exit, items:, words:)
          suspects = suspects(node.chunks, items)
          suspects.each { |index| blame(node, index, exit, words) }
          node.chunks.flat_map do |chunk|
            index = suspects.find { |suspect| chunk.cover?(suspect) }
            index ? chunk.split(index) : [chunk]
          end
        end

        private

        # One a chunk; what died before it began anything is blamed on what it would have begun.
        #
        #: (Array[Chunk], Array[Integer] items) -> Array[Integer]
        def suspects(chunks, items)
          found = chunks.filter_map { |chunk| items.find { |item| chunk.cover?(item) } }
          found.empty? ? chunks.first(1).map(&:from) : found
        end

        #: (Node, Integer index, untyped exit, String? words) -> void
        def blame(node, index, exit, words)
          return if (@deaths[index] += 1) <= TOLERATED

          chunk = node.chunks.find { |each| each.cover?(index) }
          raise NodeDied.new(item: chunk.item(index), index:, pid: node.pid, exit:, words:)
        end
      end
      private_constant :Losses
    end
  end
end
