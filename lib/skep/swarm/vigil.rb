# frozen_string_literal: true

# How a child waits: for IOs, a deadline, or to be told something, ticking all the while.
#
#   vigil = Vigil.new(every: 10.0) { stopping? }   # the block: is there no use in waiting?
#   vigil.wait_for([io], 5.0, pulse)               # => [io]; [] when told, or at the deadline
#   vigil.until(pulse) { placed? }                 # looks whenever it rings
#   vigil.tell                                     # from another thread: ends every wait_for
#   vigil.ring                                     # the same, for those that wait `until`
#
# Any number of threads and fibers may wait at once: each is woken by each ring, and each is told
# once, be it in its next wait. An end stays told.
# The bell is a pipe that stays readable until all who waited when it rang have looked.
module Skep
  class Swarm
    class Vigil
      attr_reader :every #: Float, the seconds after which waiting ticks

      def initialize(every:, &over) #: (every: Float) { () -> bool } -> void
        @every = every
        @over = over
        @wake, @waker = OS.pipe
        @lock = Mutex.new
        @rings = @told = 0
        @looked = {}.compare_by_identity # how many rings each wait in progress has looked up for
        @key = :"skep_vigil_#{object_id}"
      end

      def ring #: () -> void
        @lock.synchronize do
          @rings += 1
          @ringing ||= @waker.write_nonblock("r", exception: false)
        end
      end

      def tell #: () -> void
        @told += 1
        ring
      end

      def close = [@wake, @waker].each(&:close) #: () -> void

      #: (Array[IO], Numeric?, Pulse) -> Array[IO]
      def wait_for(ios, timeout, pulse)
        wait(ios, timeout, pulse) { told? }
      end

      # Waits until the block is true, or waiting is over.
      def until(pulse, timeout = nil, &block) #: (Pulse, ?Numeric?) { () -> bool } -> void
        wait([], timeout, pulse, &block)
      end

      private

      def wait(ios, timeout, pulse)
        deadline = timeout ? OS.now + timeout : Float::INFINITY
        this = Object.new
        found = []
        loop do
          look(this)
          return [] if over? || yield
          return found if found.any?

          pulse.tick
          readable = readable([@wake, *ios], (deadline - OS.now).clamp(0, every)) || []
          return readable if readable.any? && !readable.include?(@wake)
          return [] if readable.empty? && OS.now >= deadline

          found = readable - [@wake]
        end
      ensure
        @lock.synchronize { @looked.delete(this) }
        pulse.tick # what comes now has all the time there is
      end

      def over? = @over.call

      # Has something been told that the calling thread, or fiber, doesn't know yet?
      def told?
        told = @told
        return false if Thread.current[@key].to_i == told

        Thread.current[@key] = told
        true
      end

      # The last wait that looks up after a ring silences the bell: until then it wakes the others.
      def look(this)
        @lock.synchronize do
          @looked[this] = @rings
          next unless @ringing && @looked.each_value.all?(@rings)

          @wake.read_nonblock(64, exception: false)
          @ringing = nil
        end
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
