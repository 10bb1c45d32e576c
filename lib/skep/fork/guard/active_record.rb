# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Which database connections Active Record looks after: its pools give theirs up in a child.
      #
      #   ActiveRecord.new(inventory).owns?(pg)
      #
      # It does so from Rails 5.2 on, where the fork goes by Ruby's own ways (ForkTracker from 6.0).
      class ActiveRecord
        ADAPTER = "ActiveRecord::ConnectionAdapters::AbstractAdapter"
        RAW = %i[@raw_connection @connection].freeze # From Rails 7.1 on; before.
        ADVICE = "Active Record gives it up in a child, where it must connect anew: " \
                 "disconnect before the fork all the same, by clear_all_connections! for one"
        private_constant :ADAPTER, :RAW

        #: (ProcessInventory) -> void
        def initialize(inventory)
          @inventory = inventory
        end

        #: (Object) -> bool
        def owns?(object) = raw.key?(object)

        private

        #: () -> Hash[Object, true]
        def raw
          adapters = @inventory.objects(ADAPTER)
          @raw ||= adapters.each_with_object({}.compare_by_identity) do |one, raw|
            RAW.each { |name| raw[one.instance_variable_get(name)] = true }
          end
        end
      end
      private_constant :ActiveRecord
    end
  end
end
