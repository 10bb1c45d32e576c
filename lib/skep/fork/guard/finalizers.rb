# frozen_string_literal: true

module Skep
  module Fork
    module Guard
      # Clients which Ruby closes by itself, when nobody holds them any more and at the end of the
      # process. In a forked child that would destroy what only the parent has: librdkafka's clients
      # wait there, now and then, for threads that aren't there, and the child never ends.
      #
      #   finalizers = Guard::Finalizers.new     # before the fork: looks for them, once
      #   fork { finalizers.disarm; … }          # this child leaves them alone
      class Finalizers
        #: () -> void
        def initialize
          objects = HeapObjects.new
          types = KnownClients::ALL.select(&:finalized?)
          @clients = types.flat_map { |type| objects.of(type.name) }
        end

        #: () -> void
        def disarm = @clients.each { |client| ObjectSpace.undefine_finalizer(client) }
      end
    end
  end
end
