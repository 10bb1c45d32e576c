# frozen_string_literal: true

module Skep
  module Work
    class Map
      # One thread of a node, at work on chunks. In shared memory it tells which item it is at,
      # and looks there whether it is to let the rest of its chunk go.
      #
      #   hand = Hand.new(block, options, page:, cell:, flag:)
      #   hand.work(40, items)    # => [40, done, kind, nanoseconds, cargo]
      class Hand
        ITEM = 2  # a word of the hand's cell: the place of its item, plus 1
        HURRY = 3 # a word of the node's first cell: 1 when others wait for what it has

        #: (Proc, Options, page: OS::Page, cell: Integer, flag: Integer) -> void
        def initialize(block, options, page:, cell:, flag:)
          @block = block
          @with_index = options.with_index?
          @wanted = options.results?
          @page = page
          @cell = cell
          @flag = flag
        end

        #: (Integer from, Array[untyped] items) -> [Integer, Integer, Integer, Integer, String?]
        def work(from, items)
          began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          @from = @at = from
          @results = []
          kind, cargo = attempt(items)
          took = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began
          [from, @done, kind, took, cargo]
        ensure
          @results = nil
        end

        private

        #: (Array[untyped] items) -> [Integer, String?]
        def attempt(items)
          @with_index ? visit_with_index(items) : visit(items)
          @done = @at - @from
          [Frame::RESULTS, results]
        rescue Stop => e
          ended(Frame::STOPPED) { e.value }
        rescue SystemExit, SignalException, NoMemoryError
          raise # These end the node.
        rescue Exception => e # rubocop:disable Lint/RescueException -- for the caller to raise
          ended(Frame::RAISED) { Ordeal.pack(e) }
        end

        # The hot loop, twice: an item is begun, and counts, when its place is in shared memory.
        #
        #: (Array[untyped] items) -> void
        def visit(items)
          items.each do |item|
            break if @page.get(@flag, HURRY) == 1

            @page.set(@cell, ITEM, @at += 1)
            @results << @block.call(item)
          end
        end

        #: (Array[untyped] items) -> void
        def visit_with_index(items)
          items.each do |item|
            break if @page.get(@flag, HURRY) == 1

            @page.set(@cell, ITEM, @at += 1)
            @results << @block.call(item, @at - 1)
          end
        end

        #: () -> String?
        def results = @wanted ? Cargo.pack_results(@results.first(@done), from: @from) : nil

        # The item begun last isn't done.
        #
        #: (Integer kind) { () -> untyped } -> [Integer, String]
        def ended(kind)
          @done = @at - @from - 1
          [kind, Cargo.pack_end(results, yield, @at - 1)]
        rescue StandardError => e # A result, or what Stop was given, can't leave.
          @done = 0
          index = e.is_a?(Unmarshallable) ? e.index : @at - 1
          [Frame::RAISED, Cargo.pack_end(nil, Ordeal.pack(e), index)]
        end
      end
      private_constant :Hand
    end
  end
end
