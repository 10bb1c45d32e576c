# frozen_string_literal: true

# Whether this process may have lost its partitions without knowing it: for half of the session
# timeout it was stopped (SIGSTOP, a debugger, a frozen container), its event loop didn't run, or no
# broker was there. Another member may process the same messages then, or will soon.
#
#   lease = MembershipLease.new(22.5)
#   lease.renew           # the event loop runs; a gap that is too long isn't covered by that
#   lease.doubtful?       # the group has to be asked before anything more is processed
#   lease.confirm         # it has confirmed the membership
module Skep
  module Kafka
    module Processing
      class MembershipLease
        attr_reader :limit #: Float, seconds

        def initialize(limit, clock: OS.method(:now)) #: (Float, ?clock: ^() -> Float) -> void
          @limit, @clock = limit, clock
          confirm
        end

        def confirm = @at = @clock.call #: () -> void

        def renew #: () -> void
          confirm unless doubtful?
        end

        def doubtful? = @clock.call - @at > @limit #: () -> bool

        def inspect = "#<Skep::Kafka::Processing::MembershipLease limit=#{limit}>" #: () -> String
      end
    end
  end
end
