# frozen_string_literal: true

module Skep
  module OS
    module HugePages
      # Huge pages can be had through system calls only: the twin says so and does nothing.
      module Twin
        private

        #: () { () -> String? } -> String?
        def allowed = yield

        #: () -> String?
        def unsupported = "huge pages need skep's C extension and Linux 6.1"
      end
      private_constant :Twin
    end
  end
end
