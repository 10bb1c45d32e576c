# frozen_string_literal: true

module Skep
  module OS
    module Generation
      # What a module is extended with to answer for itself, at the price of one call in C:
      #
      #   Skep.extend(Skep::OS::Generation::Facade)
      #   Skep.pid          # => Integer, this process
      #   Skep.generation   # => Integer; tells the listener first of a fork that it doesn't know
      module Facade
        # The same in Ruby.
        module Twin
          #: () -> Integer
          def pid = $$

          #: () -> Integer
          def generation
            count = Generation.count
            count == Generation.__noticed ? count : Generation.__notice
          end
        end
        private_constant :Twin
        include Twin
      end
    end
  end
end
