# frozen_string_literal: true

module Skep
  class Web
    module Auth
      # Limits how many wrong passwords are accepted for a key, such as a name from an address.
      #
      #   throttle.exhausted?(["10.0.0.7", "ada"], now)   # => true after LIMIT failures in SECONDS
      #   throttle.failed(["10.0.0.7", "ada"], now)
      #
      # It remembers KEYS keys. Those with the fewest failures are forgotten first, so that many
      # invented names don't release a key that has to wait.
      class LoginThrottle
        LIMIT = 5
        SECONDS = 60.0
        KEYS = 10_000
        private_constant :LIMIT, :SECONDS, :KEYS

        def initialize
          @lock = Mutex.new
          @times = {}
        end

        def exhausted?(key, now)
          @lock.synchronize { recent(key, now).size >= LIMIT }
        end

        def failed(key, now)
          @lock.synchronize do
            make_room(now) if @times.size >= KEYS && !@times.key?(key)
            @times[key] = [*recent(key, now), now].last(LIMIT)
          end
        end

        private

        def recent(key, now)
          @times.fetch(key, []).select { |time| now - time < SECONDS }
        end

        # Removes a tenth at once, so that this happens rarely.
        def make_room(now)
          @times.delete_if { |key, _| recent(key, now).empty? }
          return if @times.size < KEYS

          @times.min_by(KEYS / 10) { |_, times| [times.size, times.last] }
                .each { |key, _| @times.delete(key) }
        end
      end
    end
  end
end
