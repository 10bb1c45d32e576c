# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # Starts the thread of a Background in each forked child at once; only for `restart: :eager`.
      # With `:lazy`, the default, the thread starts at the next push. The reference is weak.
      #
      #   restart = RestartInChild.new(background)
      #   restart.cancel
      #
      # Once the Background is collected it cancels itself at the next fork.
      class RestartInChild
        def initialize(background)
          @weak = ObjectSpace::WeakMap.new
          @weak[self] = background
          @registration = Skep.on_fork(parent: method(:background), child: method(:call))
        end

        def call = background&.__restart

        def cancel = @registration.cancel

        private

        def background = @weak[self] || cancel
      end
      private_constant :RestartInChild
    end
  end
end
