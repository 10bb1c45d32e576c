# frozen_string_literal: true

module Skep
  module OS
    module Lifeline
      # What other systems offer: nothing. Nobody is ever tied.
      module Twin
        # Is this very process tied?
        #
        #: () -> bool
        def tied? = false

        # Ties again what is tied: a change of user unties, a trap takes the handler away.
        #
        #: () -> bool
        def renew = false

        private

        #: (Integer, Integer, Integer, IO?) -> bool
        def hold(_parent, _keeper, _nanoseconds, _estate) = false
      end
      private_constant :Twin
    end
  end
end
