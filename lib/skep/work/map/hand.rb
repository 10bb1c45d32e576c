# frozen_string_literal: true

module Skep
  module Work
    class Map
      # One thread of a node, at work on chunks. It claims each item in shared memory, and lets the
      # rest of its chunk go when the map has cut it off there.
      #
      #   hand = Hand.new(block, options, claims)
      #   hand.work(40, lane) { items }    # => [lane, done, kind, nanoseconds, cargo]
      class Hand
        #: (Proc, Options, Claims) -> void
        def initialize(block, options, claims)
          @block = block
          @with_index = options.with_index?
          @wanted = options.results?
          @claims = claims
        end

        #: (Integer from, Integer lane) { () -> Array[untyped] }
        #:   -> [Integer, Integer, Integer, Integer, String?]
        def work(from, lane, &items)
          began = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
          @from = from
          @results = []
          kind, cargo = attempt(items, *@claims.place(lane))
          took = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - began
          [lane, @done, kind, took, cargo]
        ensure
          @results = nil
        end

        private

        #: (^() -> Array[untyped] items, OS::SharedPage, Integer cell, Integer word)
        #:   -> [Integer, String?]
        def attempt(items, page, cell, word)
          visit(items.call, page, cell, word)
          finished
        rescue Unmarshallable => e
          unmarshallable(e, e.index)
        rescue Stop => e
          ended(Frame::STOPPED) { e.value }
        rescue SystemExit, SignalException, NoMemoryError
          raise # These end the node.
        rescue Exception => e # rubocop:disable Lint/RescueException -- for the caller to raise
          ended(Frame::RAISED) { Ordeal.pack(e) }
        end

        # The hot loop.
        #
        #: (Array[untyped] items, OS::SharedPage, Integer cell, Integer word) -> void
        def visit(items, page, cell, word)
          block = @block
          results = @results
          items.each do |item|
            claims = page.add(cell, word, 1)
            break if claims & Claims::MASK > claims >> Claims::SHIFT

            results << (@with_index ? block.call(item, @from + results.size) : block.call(item))
          end
        end

        #: () -> [Integer, String?]
        def finished
          @done = @results.size
          [Frame::RESULTS, @wanted ? Cargo.pack_results(@results, from: @from) : nil]
        end

        # Those before are done.
        #
        #: (Integer kind) { () -> untyped } -> [Integer, String]
        def ended(kind)
          place = @from + @results.size
          _, results = finished
          [kind, Cargo.pack_end(results, yield, place)]
        rescue StandardError => e # A result, or what Stop was given, can't leave.
          unmarshallable(e, place)
        end

        #: (StandardError, Integer place) -> [Integer, String]
        def unmarshallable(error, place)
          @done = 0
          place = error.index if error.is_a?(Unmarshallable)
          [Frame::RAISED, Cargo.pack_end(nil, Ordeal.pack(error), place)]
        end
      end
      private_constant :Hand
    end
  end
end
