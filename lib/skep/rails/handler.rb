# frozen_string_literal: true

# A handler as Rails has it: around each call there is Rails' executor, as around a request. In
# development edited code is loaded anew before it; the database's connection goes back to its pool
# after it; what is raised is told to Rails.error, once, with where it was met.
#
#   Handler.new(->(batch, child) { … }).call(batch, child)
module Skep
  module Rails
    class Handler
      SOURCE = "application.skep"
      private_constant :SOURCE

      def initialize(handler) #: (^(*untyped) -> void) -> void
        @handler = handler
      end

      def call(*given) #: (*untyped) -> void
        ::Rails.application.reloader.wrap(source: SOURCE) do
          @handler.call(*given)
        rescue Exception => e # what ends the node, too; it is raised again
          ::Rails.error.report(e, handled: false, context: context(e, *given), source: SOURCE)
          raise
        end
      end

      private

      def context(error, *work, child)
        { swarm: child.swarm, node: child.id, **place(work.first, error) }
      end

      # Which message it was, where that is known.
      def place(batch, error)
        return {} unless batch.respond_to?(:place)

        { **batch.place, offset: batch.__failed_at(error) || batch.first_offset }
      end
    end
    private_constant :Handler

    # A node's work: what Swarm.run_with asks for.
    #
    #: (untyped, Swarm::Child, ^(*untyped) -> void) -> void
    def self.run(source, child, handler)
      source.run(child, Handler.new(handler))
    ensure
      Courier.close if defined?(Courier)
    end
  end
end
