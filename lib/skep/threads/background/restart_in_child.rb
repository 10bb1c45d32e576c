# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # Starts a Background in each forked child, without keeping alive one that nobody holds.
      #
      #   restart = RestartInChild.new(background)
      #   restart.cancel
      #
      # Where the Background was forgotten it cancels itself at the next fork.
      class RestartInChild
        #: (Background) -> void
        def initialize(background)
          @weak = ObjectSpace::WeakMap.new
          @weak[self] = background
          @registration = Skep.on_fork(parent: method(:background), child: method(:call))
        end

        #: () -> void
        def call = background&.__revive

        #: () -> void
        def cancel = @registration.cancel

        private

        #: () -> Background?
        def background = @weak[self] || cancel
      end
      private_constant :RestartInChild
    end
  end
end
