# frozen_string_literal: true

# How a child waits: for IOs, a deadline, or to be told something, ticking all the while.
#
#   waiter = InterruptibleWait.new(every: 10.0) { stopping? }   # the block: is waiting of no use?
#   waiter.wait_for([io], 5.0, heartbeat)               # => [io]; [] when told, or at the deadline
#   waiter.until(heartbeat) { placed? }                 # looks whenever it rings
#   waiter.tell                                     # from another thread: ends every wait_for
#   waiter.ring                                     # the same, for those that wait `until`
#
# Any number of threads and fibers may wait at once: each is woken by each ring, and each is told
# once, be it in its next wait. An end stays told.
# Each ring has a pipe of its own: closing its write end wakes all that wait with it, and those that
# have looked wait with the pipe of the next ring. So a wait whose thread can't look for long, or
# never does because it was killed, keeps no other one awake.
module Skep
  class Swarm
    module InNode
      class InterruptibleWait
        # A pipe for one ring, and how many waits use it. The last of them closes it.
        class Bell
          attr_reader :wake #: IO

          def initialize #: () -> void
            @wake, @waker = OS.pipe
            @waits = 0
          end

          def ring = @waker.close #: () -> void
          def rung? = @waker.closed? #: () -> bool

          def enter #: () -> Bell
            @waits += 1
            self
          end

          def leave #: () -> void
            @waits -= 1
            retire
          end

          # Called when waits use another one from here on.
          def retire = rung? && @waits.zero? && @wake.close #: () -> void
          def close = [@wake, @waker].each(&:close) #: () -> void
          def closed? = @wake.closed? #: () -> bool
        end
        private_constant :Bell

        attr_reader :every #: Float, the seconds after which waiting ticks

        def initialize(every:, &over) #: (every: Float) { () -> bool } -> void
          @every = every
          @over = over
          @bell = Bell.new
          @lock = Mutex.new
          @told = 0
          @key = :"skep_vigil_#{object_id}"
        end

        def ring #: () -> void
          @lock.synchronize do
            @bell.ring
            renew unless @bell.closed?
          end
        end

        def tell #: () -> void
          @told += 1
          ring
        end

        def close = @lock.synchronize { @bell.close } #: () -> void

        #: (Array[IO], Numeric?, IPC::Scoreboard::Heartbeat) -> Array[IO]
        def wait_for(ios, timeout, heartbeat)
          wait(ios, timeout, heartbeat) { told? }
        end

        # Waits until the block is true, or waiting is over.
        #: (IPC::Scoreboard::Heartbeat, ?Numeric?) { () -> bool } -> void
        def until(heartbeat, timeout = nil, &block)
          wait([], timeout, heartbeat, &block)
        end

        private

        def wait(ios, timeout, heartbeat)
          deadline = timeout ? OS.now + timeout : Float::INFINITY
          found = []
          bell = nil
          Kernel.loop do
            bell = look(bell)
            return [] if over? || yield
            return found if found.any?

            heartbeat.tick
            readable = readable([bell.wake, *ios], (deadline - OS.now).clamp(0, every)) || []
            return readable if readable.any? && !readable.include?(bell.wake)
            return [] if readable.empty? && OS.now >= deadline

            found = readable - [bell.wake]
          end
        ensure
          @lock.synchronize { bell&.leave }
          heartbeat.tick # what comes now has all the time there is
        end

        def over? = @over.call

        # Has something been told that the calling thread, or fiber, doesn't know yet?
        def told?
          told = @told
          return false if Thread.current[@key].to_i == told

          Thread.current[@key] = told
          true
        end

        # The bell of the next ring, in place of the one that the wait has used.
        def look(bell)
          @lock.synchronize do
            renew if @bell.rung?
            next bell if bell == @bell

            bell&.leave
            @bell.enter
          end
        end

        # Where no descriptor is left the bell stays rung, and each wait looks again and again until
        # there is one: better than to miss a ring.
        def renew
          rung, @bell = @bell, Bell.new
          rung.retire
        rescue Errno::EMFILE, Errno::ENFILE
          nil
        end

        # One IO alone is waited for through a Fiber scheduler, where there is one: not every
        # scheduler knows IO.select, which would hold up all of its fibers.
        def readable(ios, seconds)
          return IO.select(ios, nil, nil, seconds)&.first unless ios.one?

          ios if ios.first.wait_readable(seconds)
        end
      end
    end
  end
end
