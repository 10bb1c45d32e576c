# frozen_string_literal: true

module Skep
  module Watch
    class Web
      # How often a wrong password came from somewhere for some name: whoever guesses is made to
      # wait.
      #
      #   attempts.spent?(["10.0.0.7", "ada"], now)   # => true after MOST wrong ones within SECONDS
      #   attempts.wrong(["10.0.0.7", "ada"], now)
      #
      # Pure but for its lock. It remembers KEYS of them: those of the fewest wrong passwords are
      # forgotten first, so that many made-up names free nobody who waits.
      class Attempts
        MOST = 5
        SECONDS = 60.0
        KEYS = 10_000
        private_constant :MOST, :SECONDS, :KEYS

        def initialize #: () -> void
          @lock = Mutex.new
          @times = {}
        end

        def spent?(key, now) #: (untyped, Float) -> bool
          @lock.synchronize { recent(key, now).size >= MOST }
        end

        def wrong(key, now) #: (untyped, Float) -> void
          @lock.synchronize do
            make_room(now) if @times.size >= KEYS && !@times.key?(key)
            @times[key] = [*recent(key, now), now].last(MOST)
          end
        end

        private

        def recent(key, now)
          @times.fetch(key, []).select { |time| now - time < SECONDS }
        end

        # A tenth of it, so that this is seldom.
        def make_room(now)
          @times.delete_if { |key, _| recent(key, now).empty? }
          return if @times.size < KEYS

          @times.min_by(KEYS / 10) { |_, times| [times.size, times.last] }
                .each { |key, _| @times.delete(key) }
        end
      end
      private_constant :Attempts
    end
  end
end
