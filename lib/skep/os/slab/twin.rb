# frozen_string_literal: true

module Skep
  module OS
    module Slab
      # Ruby's own allocations can't be told from Ruby: the twin says so and does nothing.
      module Twin
        #: () -> bool
        def installed? = false

        #: () -> Integer
        def records = 0

        #: () -> Integer
        def bytes = 0

        #: () -> Integer
        def shared_bytes = 0

        #: () -> Integer
        def given_back = 0

        private

        #: () -> void
        def unwatch = nil

        #: () -> String?
        def set_up = "it needs skep's C extension"
      end
      private_constant :Twin
    end
  end
end
