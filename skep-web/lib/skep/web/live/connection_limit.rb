# frozen_string_literal: true

module Skep
  class Web
    module Live
      # Limits how many pages may be open at a time. A page gets a reservation before its stream
      # opens, so that pages which come at once don't exceed the limit.
      #
      #   reservation = limit.reserve("a session's id", now, ends_at: 900.0)   # nil: all are taken
      #   limit.confirm(reservation)   # the stream is open; false: too late, and all are taken
      #   limit.release(reservation)   # it has closed
      #
      # A reservation whose stream never opens is released after SECONDS.
      class ConnectionLimit
        # expires_at: unless its stream opens before; ends_at: when the page must close, or nil.
        Reservation = Struct.new(:owner, :expires_at, :ends_at)
        LIMIT = 64
        SECONDS = 10.0
        private_constant :LIMIT, :SECONDS

        def initialize
          @lock = Mutex.new
          @taken = {}.compare_by_identity
        end

        def reserve(owner, now, ends_at: nil)
          @lock.synchronize do
            clear_in_child
            @taken.delete_if { |one, _| one.expires_at && one.expires_at < now }
            next unless room?

            Reservation.new(owner, now + SECONDS, ends_at).tap { |one| @taken[one] = true }
          end
        end

        def confirm(reservation)
          @lock.synchronize do
            return false unless @taken.key?(reservation) || room?

            reservation.expires_at = nil
            @taken[reservation] = true
          end
        end

        def release(reservation) = @lock.synchronize { @taken.delete(reservation) }

        private

        def room? = @taken.size < LIMIT

        # A forked child serves pages of its own.
        def clear_in_child
          return if @pid == Process.pid

          @pid = Process.pid
          @taken.clear
        end
      end
    end
  end
end
