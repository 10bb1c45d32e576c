# frozen_string_literal: true

# Says whether this process may have lost its partitions without noticing: for half of the
# session timeout it was stopped (SIGSTOP, a debugger, a frozen container, a suspended host), its
# event loop didn't run, or no broker answered. Another member may process the same messages then,
# or will soon.
#
#   lease = MembershipLease.new(22.5)
#   lease.renew           # the event loop runs; has no effect after too long a gap
#   lease.doubtful?       # true: ask the group before processing anything more
#   lease.confirm         # the group has confirmed the membership
#
# The event loop renews it; PartitionOwnership asks it before each message.
module Skep
  module Kafka
    module Processing
      class MembershipLease
        attr_reader :limit # seconds

        # clock: the session goes on while this host is suspended.
        def initialize(limit, clock: OS.method(:now_with_suspends))
          @limit, @clock = limit, clock
          confirm
        end

        def confirm = @at = @clock.call

        def renew
          confirm unless doubtful?
        end

        def doubtful? = @clock.call - @at > @limit

        def inspect = "#<Skep::Kafka::Processing::MembershipLease limit=#{limit}>"
      end
    end
  end
end
