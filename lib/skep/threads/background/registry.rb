# frozen_string_literal: true

module Skep
  module Threads
    class Background
      # The Backgrounds of this process, which are to finish what they have when it exits.
      #
      #   Registry.add(background)
      #   Registry.over?     # => true once they have had their time
      #
      # The newest is closed first: it may hand on what it has to one that was there before.
      # None is kept alive.
      module Registry
        @all = ObjectSpace::WeakMap.new
        @lock = Mutex.new

        #: (Background) -> void
        def self.add(background)
          @lock.synchronize do
            at_exit { drain } unless @waits
            @waits = true
            @all[background] = background # Ruby 3.1 gives dead keys, but no dead values.
          end
        end

        #: () -> bool
        def self.over? = @over == OS::Generation.count

        # Runs in a forked child, too, that doesn't end by exit!.
        #
        #: () -> void
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
