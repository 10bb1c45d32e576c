# frozen_string_literal: true

module Skep
  module OS
    class EventLoop
      class Poller
        # The poller over epoll(7). Only the C extension includes it, after the Fallback.
        #
        # Forked children share an epoll set, and the set keeps each descriptor that a child still
        # has open. So a child replaces the set at its first use, and a set that reports an IO that
        # was closed without being removed is replaced.
        module Epoll
          private

          def attach
            @owner = Process.pid
            epoll_open
          end

          # An entry that waits for nothing isn't in the set, which would report a hangup.
          def arm(entry)
            return if own_set

            wanted = entry.read || entry.write
            epoll_arm(entry.armed, entry.io.fileno, entry.serial, entry.read, entry.write) if
              wanted || entry.armed
            entry.armed = wanted
          end

          def release = @epoll.close

          def ready(seconds)
            own_set
            events = epoll_collect(seconds)
            found = events.filter_map { |event| verdict(*event) }
            renew if found.size < events.size
            found
          end

          def verdict(serial, readable, writable)
            entry = @serials[serial]
            return if entry.nil? || entry.io.closed?

            [entry.token, readable && entry.read, writable && entry.write]
          end

          # Replaces a set inherited by fork; returns true if it did.
          def own_set
            return false if @owner == Process.pid

            renew
            true
          end

          def renew
            @epoll.close
            attach
            forget_closed
            @entries.each_value do |entry|
              entry.armed = false
              arm(entry)
            end
          end
        end
        private_constant :Epoll
      end
    end
  end
end
