# frozen_string_literal: true

module Skep
  module Fork
    # One set of callbacks, as Skep.on_fork returns it.
    #
    #   registration = Skep.on_fork(child: -> { reconnect })
    #   registration.cancel
    #
    # A child inherits it; cancelling it in one process doesn't affect the other.
    class Registration
      def initialize(callbacks, before:, parent:, child:)
        @callbacks = callbacks
        @blocks = { before:, parent:, child: }.compact.freeze
        wrong = @blocks.reject { |_, block| block.respond_to?(:call) }.keys
        raise ArgumentError, "on_fork can't call its #{wrong.join(" and ")}" if wrong.any?
        raise ArgumentError, "on_fork needs a before, a parent or a child to call" if @blocks.empty?
      end

      # Removes its callbacks. A fork in progress still runs them.
      def cancel = @callbacks.__cancel(self)

      # Returns true once its callbacks are removed.
      def cancelled? = !@callbacks.__include?(self)

      def inspect
        places = @blocks.map { |moment, _| "#{moment} #{place(moment)}" }
        "#<#{self.class} #{places.join(", ")}#{" cancelled" if cancelled?}>"
      end

      # Calls the callback for a moment (:before, :parent or :child), if it has one.
      def __call(moment) = @blocks[moment]&.call

      # Names the callback for a moment, for reports.
      def __name(moment) = "the #{moment} callback of #{place(moment)}"

      private

      def place(moment)
        block = @blocks[moment]
        block = block.method(:call) unless block.respond_to?(:source_location)
        block.source_location&.join(":") || "C"
      end
    end
  end
end
