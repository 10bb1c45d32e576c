# frozen_string_literal: true

module Skep
  module Work
    class Map
      # What comes back: results put in their places, hooks called, the bar moved.
      #
      #   harvest = Harvest.new(options, source)
      #   harvest.begin(chunk)                # handed out for the first time
      #   harvest.take(chunk, done, results)  # so many of its first items are done
      #   harvest.finish                      # => all results
      class Harvest
        #: (Options, untyped source) -> void
        def initialize(options, source)
          @options = options
          @results = []
          @bar = Bar.for(options.progress, source.size)
          @early = {}
          @expected = 0
        end

        #: (Chunk) -> void
        def begin(chunk)
          return unless (start = @options.start)

          chunk.items.each_with_index { |item, offset| start.call(item, chunk.from + offset) }
        end

        #: (Chunk, Integer done, Array[untyped]? results) -> void
        def take(chunk, done, results)
          return if done.zero?

          keep(chunk.from, done, results) if @options.keep?
          tell(chunk, done, results) if @options.finish
          @bar&.advance(done)
        end

        #: () -> Array[untyped]
        def finish
          @bar&.finish
          @results
        end

        #: () -> void
        def close = @bar&.close

        private

        #: (Integer from, Integer done, Array[untyped] results) -> void
        def keep(from, done, results)
          @options.ordered? ? @results[from, done] = results : @results.concat(results)
        end

        #: (Chunk, Integer done, Array[untyped] results) -> void
        def tell(chunk, done, results)
          done.times do |offset|
            report = [chunk.items[offset], chunk.from + offset, results[offset]]
            @options.finish_in_order? ? tell_in_order(report) : @options.finish.call(*report)
          end
        end

        #: ([untyped, Integer, untyped]) -> void
        def tell_in_order(report)
          @early[report[1]] = report
          while (due = @early.delete(@expected))
            @expected += 1
            @options.finish.call(*due)
          end
        end
      end
      private_constant :Harvest
    end
  end
end
