# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Items, results and exceptions as bytes. It is the one place of skep that marshals: both
      # ends are forks of one program, over a socket that nobody else has.
      #
      #   Cargo.pack_results([1, 2], from: 40)
      #   Cargo.load(bytes)
      module Cargo
        ITEMS = "give an Array of them, which nodes have by their fork, or what they are made from"
        RESULTS = "return plain data, or use Skep.each where no results are needed"
        private_constant :ITEMS, :RESULTS

        class << self
          #: (Chunk) -> String
          def pack_items(chunk) = dump(chunk.items, chunk.from, "item", ITEMS)

          # Raises Unmarshallable, which names the item by its place.
          #
          #: (Array[untyped] results, from: Integer) -> String
          def pack_results(results, from:) = dump(results, from, "the result of item", RESULTS)

          #: (String, Chunk) -> Array[untyped]
          def load_results(bytes, chunk)
            load(bytes)
          rescue StandardError => e # a class that only the node knows, or one that refuses
            what = "a result of the items from #{chunk.from} to #{chunk.from + chunk.size - 1}"
            raise Unmarshallable.new(what:, index: chunk.from, because: e.message, instead: RESULTS)
          end

          # What was done before an end, what the end was, and at which place.
          #
          #: (String? results, untyped, Integer index) -> String
          def pack_end(results, what, index) = Marshal.dump([results, what, index])

          #: (String) -> untyped
          def load(bytes)
            Marshal.load(bytes) # rubocop:disable Security/MarshalLoad -- a fork of ours wrote it
          end

          # For other classes of this file.
          #
          #: (untyped) -> String
          def __dump(object) = Marshal.dump(object)

          private

          #: (Array[untyped], Integer from, String what, String instead) -> String
          def dump(objects, from, what, instead)
            Marshal.dump(objects)
          rescue StandardError => e # whatever the objects' own methods raise, too
            place = objects.index { |object| !dumpable?(object) } or raise
            raise Unmarshallable.new(what: "#{what} #{from + place}, #{a(objects[place].class)},",
                                     index: from + place, because: e.message, instead:)
          end

          #: (Class) -> String
          def a(name) = "#{name.to_s.match?(/\A[AEIO]/) ? "an" : "a"} #{name}"

          #: (untyped) -> bool
          def dumpable?(object)
            !Marshal.dump(object).nil?
          rescue StandardError
            false # The reason is known.
          end
        end
      end
      private_constant :Cargo
    end
  end
end
