# frozen_string_literal: true

module Skep
  module OS
    module HeldSignals
      # What Ruby offers: no way to block a signal.
      module Twin
        # Puts everything back as it was before `hold`.
        #
        #: () -> true
        def take_back = unsupported!

        private

        #: (Array[Integer]) -> true
        def block(_numbers) = unsupported!

        #: () -> bot
        def unsupported!
          raise Unsupported.new(what: "keeping signals for the next program",
                                because: "it takes skep's C extension")
        end
      end
      private_constant :Twin
    end
  end
end
