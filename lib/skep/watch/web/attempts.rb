# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # How often a wrong password came from an address: whoever guesses is made to wait.
      #
      #   attempts.spent?("10.0.0.7", now)   # => true after MOST wrong ones within SECONDS
      #   attempts.wrong("10.0.0.7", now)
      #
      # Pure but for its lock. It remembers ADDRESSES of them, the last ones.
      class Attempts
        MOST = 5
        SECONDS = 60.0
        ADDRESSES = 1000
        private_constant :MOST, :SECONDS, :ADDRESSES

        def initialize #: () -> void
          @lock = Mutex.new
          @times = {}
        end

        def spent?(address, now) #: (String, Float) -> bool
          @lock.synchronize { recent(address, now).size >= MOST }
        end

        def wrong(address, now) #: (String, Float) -> void
          @lock.synchronize do
            times = [*recent(address, now), now].last(MOST)
            @times.delete(address)
            @times[address] = times
            @times.shift if @times.size > ADDRESSES
          end
        end

        private

        def recent(address, now)
          @times.fetch(address, []).select { |time| now - time < SECONDS }
        end
      end
      private_constant :Attempts
    end
  end
end
