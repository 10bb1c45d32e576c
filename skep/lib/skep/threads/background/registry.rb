# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # The Backgrounds of this process, which process their items when it exits, and of which
      # those with `restart: :eager` start in a forked child.
      #
      #   Registry.add(background)
      #   Registry.over?     # => true once they are drained
      #
      # The newest is closed first, because it may push to an older one. The references are weak.
      module Registry
        @all = ObjectSpace::WeakMap.new
        @lock = Mutex.new

        def self.add(background, eager:)
          @lock.synchronize do
            at_exit { drain } unless @waits
            @waits = true
            @hook ||= Skep.on_fork(child: -> { @all.values.each(&:__restart) }) if eager
            @all[background] = background # Ruby 3.1 returns dead keys, but not dead values.
          end
        end

        def self.over? = @over == OS::Generation.count

        # Also runs in a forked child, unless that ends by exit!.
        def self.drain
          began = OS.now
          @all.values.reverse_each { |background| background.__drain(began) }
        ensure
          @over = OS::Generation.count
        end
      end
      private_constant :Registry
    end
  end
end
