# frozen_string_literal: true

# How a child waits: for IOs, a deadline, or to be told something, ticking all the while.
#
#   vigil = Vigil.new(every: 10.0) { stopping? }   # the block: is there no use in waiting?
#   vigil.wait_for([io], 5.0, pulse)               # => [io]; [] when told, or at the deadline
#   vigil.ring                                     # from another thread: who waits looks up
module Skep
  class Swarm
    class Vigil
      attr_reader :every #: Float, the seconds after which waiting ticks

      def initialize(every:, &over) #: (every: Float) { () -> bool } -> void
        @every = every
        @over = over
        @wake, @waker = OS.pipe
      end

      def ring = @waker.write_nonblock("r", exception: false) #: () -> void
      def close = [@wake, @waker].each(&:close) #: () -> void

      #: (Array[IO], Numeric?, Pulse) -> Array[IO]
      def wait_for(ios, timeout, pulse)
        deadline = timeout ? OS.now + timeout : Float::INFINITY
        until over?
          pulse.tick
          readable = readable([@wake, *ios], (deadline - OS.now).clamp(0, every))
          return readable - [@wake] if readable && !woken(readable)
          return [] if readable || OS.now >= deadline
        end
        []
      ensure
        pulse.tick # what comes now has all the time there is
      end

      # Waits until the block is true, or waiting is over.
      def until(pulse) #: (Pulse) { () -> bool } -> void
        until yield || over?
          pulse.tick
          woken([@wake]) if readable([@wake], every)
        end
      end

      private

      def over? = @over.call

      # One IO alone is waited for through a Fiber scheduler, where there is one: not every
      # scheduler knows IO.select, which would hold up all of its fibers.
      def readable(ios, seconds)
        return IO.select(ios, nil, nil, seconds)&.first unless ios.one?

        ios if ios.first.wait_readable(seconds)
      end

      # Was it only the bell?
      # What was told is told once, so that waiting on goes on waiting; an end stays told.
      def woken(readable)
        return false unless readable.include?(@wake)

        @wake.read_nonblock(64, exception: false) unless over?
        true
      end
    end
  end
end
