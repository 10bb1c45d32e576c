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
# The event loop renews it; PartitionOwnership (below) asks it before each message.
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

      # Says whether the partition of its batch is still assigned to this node.
      #
      #   ownership = PartitionOwnership.new(node:, partition:, consumer:, scheduler:, lease:,
      #                                      asks: true)
      #   ownership.revoked?    # true: the group has asked for it back, or has taken it
      #   ownership.confirmed?  # false: it is revoked, or the group doesn't confirm the membership
      #
      # If the membership is doubtful (MembershipLease), a commit of what is done asks the group:
      # the broker refuses commits of members that it doesn't know. In a transactional source the
      # transaction's own commit does that.
      class PartitionOwnership
        SECONDS, RETRY_SECONDS = 5.0, 0.25
        private_constant :SECONDS, :RETRY_SECONDS

        attr_reader :limit # nanoseconds between two messages after which to ask again

        # asks: false in a transactional source.
        def initialize(node:, partition:, consumer:, scheduler:, lease:, asks:)
          @consumer, @scheduler, @lease = consumer, scheduler, lease
          @node, @partition = node, partition
          @asks = asks
          @limit = (@lease.limit * 1e9).to_i
        end

        def revoked? = !@partition.revocation.nil?
        def state = @partition.user_state # Batch#state

        def confirmed?
          ask while @asks && @lease.doubtful? && !revoked? && !@node.stopping?
          !revoked? && !(@asks && @lease.doubtful?)
        end

        def inspect = "#<Skep::Kafka::Processing::PartitionOwnership of #{@partition}>"

        private

        # Without an answer, or if the commit is refused, this waits a moment: if the partition is
        # lost, the event loop hears of it soon.
        def ask
          place = @scheduler.resume_entry(@partition) or return @lease.confirm # nothing read
          code = @node.busy(for: SECONDS + 1) { @consumer.commit([place], SECONDS) }
          return @lease.confirm if code.zero? && !@consumer.lost?

          (@pause ||= Threads::Inbox.new).pop(timeout: RETRY_SECONDS) # it remains empty
        end
      end
    end
  end
end
