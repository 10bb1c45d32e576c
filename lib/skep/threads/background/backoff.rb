# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # How long a thread pauses after each error. Knows no clock and no thread.
      #
      #   backoff = Backoff.new
      #   backoff.after(taken: 1, ran: 0.2)    # => 0.0, seconds
      #   backoff.after(taken: 1, ran: 0.2)    # => 0.1, then 0.2 … 30, each ±20%
      #
      # The first error is free, and so is one after a run that did some work: that took two items,
      # so that one at least went well, or ran for half a minute.
      class Backoff
        FIRST = 0.1
        MOST = 30.0
        SPREAD = (0.8..1.2)
        private_constant :FIRST, :MOST, :SPREAD

        #: (?random: untyped) -> void
        def initialize(random: Random)
          @random = random
          @errors = 0
        end

        # `taken` is how many items the run took, `ran` how many seconds it went on.
        #
        #: (taken: Integer, ran: Float) -> Float
        def after(taken:, ran:)
          @errors = taken > 1 || ran >= MOST ? 1 : @errors + 1
          return 0.0 if @errors == 1

          [FIRST * (2**[@errors - 2, 16].min), MOST].min * @random.rand(SPREAD)
        end
      end
      private_constant :Backoff
    end
  end
end
