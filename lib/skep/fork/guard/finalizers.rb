# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Removes the finalizers of inherited clients in a forked child. Ruby runs a finalizer when it
      # collects the object and at the end of the process; in a child, librdkafka's then sometimes
      # waits for threads that only the parent has, and the child never ends.
      #
      #   finalizers = Guard::Finalizers.new     # before the fork: finds the clients, once
      #   fork { finalizers.disarm; … }
      class Finalizers
        def initialize
          inventory = ProcessInventory.new
          types = KnownClients::ALL.select(&:finalized)
          @clients = types.flat_map { |type| inventory.objects(type.name) }
        end

        def disarm = @clients.each { |client| ObjectSpace.undefine_finalizer(client) }
      end
    end
  end
end
