# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Removes the finalizers of inherited clients in a forked child. Ruby runs a finalizer when it
      # collects the object and at the end of the process; in a child, that of a client with threads
      # may wait for these threads, which only the parent has, and the child never ends.
      #
      #   finalizers = Guard::Finalizers.new     # before the fork: finds the clients, once
      #   fork { finalizers.disarm; … }
      class Finalizers
        def initialize
          inventory = ProcessInventory.new
          types = KnownClients.all(inventory).select(&:finalized)
          @clients = types.flat_map { |type| inventory.objects(type.name) }
        end

        def disarm = @clients.each { |client| ObjectSpace.undefine_finalizer(client) }
      end
    end
  end
end
