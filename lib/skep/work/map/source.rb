# frozen_string_literal: true

module Skep
  module Work
    class Map
      # Finds out how the items are to be taken: all at once where they have an end in memory
      # (Listed), one after the other where they may have none (Streamed).
      #
      #   source = Source.of(items)
      #   source.take(100)    # => a Chunk of at most so many, nil at the end
      #   source.more?        # may wait for the next item
      #   source.dry?         # is the end known? never waits
      #   source.size         # => Integer, or nil when nobody knows
      #   source.left         # => how many are still to be taken, or nil
      #   source.close        # when no more are wanted
      #
      # A Queue is popped until it is closed and empty, what can be called is called, one by one;
      # both may end with Skep::Stop for an item, the class itself.
      module Source
        LISTS = [Array, Hash, Struct].freeze
        private_constant :LISTS

        #: (untyped items) -> (Listed | Streamed)
        def self.of(items)
          return Listed.new(items.to_a) if list?(items)
          return Streamed.new(produced(items)) { false } if items.respond_to?(:call)
          return Streamed.new(popped(items)) { !items.empty? } if items.respond_to?(:num_waiting)

          streamed(items)
        end

        #: (untyped items) -> bool
        def self.list?(items)
          case items
          when *LISTS then true
          when Range then !items.end.nil? && items.end != Float::INFINITY
          else items.respond_to?(:to_ary) || (defined?(Set) && items.is_a?(Set))
          end
        end

        #: (untyped items) -> Streamed
        def self.streamed(items)
          unless items.respond_to?(:each)
            raise ArgumentError, "a map takes what has each, a Queue or a Proc, not #{items.class}"
          end

          size = items.size if items.is_a?(Enumerator)
          Streamed.new(items, size.is_a?(Integer) ? size : nil)
        end

        #: (untyped producer) -> Enumerator
        def self.produced(producer)
          Enumerator.new do |items|
            until Stop == (item = producer.call)
              items << item
            end
          end
        end

        #: (Thread::Queue) -> Enumerator
        def self.popped(queue)
          Enumerator.new do |items|
            until Stop == (item = queue.pop) || (item.nil? && queue.closed?)
              items << item
            end
          end
        end
        private_class_method :list?, :streamed, :produced, :popped
      end
      private_constant :Source
    end
  end
end
