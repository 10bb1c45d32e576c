# frozen_string_literal: true

module Skep
  module OS
    module Group
      # Without the C nobody is ended.
      module Twin
        # Kills every other process of the group that we lead; false, and nothing is done, where we
        # lead none.
        #
        #: () -> bool
        def end_others = false
      end
      private_constant :Twin
    end
  end
end
