# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # How many pages may be open at a time. A place is taken when a page is promised one, before
      # its stream is there: pages that come at once don't get more than there are.
      #
      #   place = places.take("its cookie", now) or refuse   # nil: all are taken
      #   places.keep(place)       # the stream is open; false: it came too late, and all are taken
      #   places.free(place)       # it has closed
      #
      # Pure but for its lock. A stream that never opens has its place for SECONDS.
      class Places
        Place = Struct.new(:owner, :ends)
        MOST = 64
        SECONDS = 10.0
        private_constant :Place, :MOST, :SECONDS

        def initialize #: () -> void
          @lock = Mutex.new
          @taken = {}.compare_by_identity
        end

        #: (String?, Float) -> Place?
        def take(owner, now)
          @lock.synchronize do
            forget_a_parents
            @taken.delete_if { |place, _| place.ends && place.ends < now }
            Place.new(owner, now + SECONDS).tap { |place| @taken[place] = true } if room?
          end
        end

        def keep(place) #: (Place) -> bool
          @lock.synchronize do
            return false unless @taken.key?(place) || room?

            place.ends = nil
            @taken[place] = true
          end
        end

        def free(place) = @lock.synchronize { @taken.delete(place) } #: (Place) -> void

        private

        def room? = @taken.size < MOST

        # In a forked child, which serves pages of its own.
        def forget_a_parents
          return if @pid == Process.pid

          @pid = Process.pid
          @taken.clear
        end
      end
      private_constant :Places
    end
  end
end
