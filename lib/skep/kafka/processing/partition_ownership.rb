# frozen_string_literal: true

# Tells a handler whether the partition of its batch is still assigned to this node.
#
#   ownership = PartitionOwnership.new(child:, partition:, consumer:, lease:, asks: true)
#   ownership.revoked?      # true: the group has asked for it back, or has taken it
#   ownership.confirmed?    # false: it is revoked, or the group doesn't confirm the membership
#
# If the membership is doubtful (MembershipLease), a commit of what is done asks the group: the
# broker refuses commits of members that it doesn't know. In a transactional source the
# transaction's own commit does that.
module Skep
  module Kafka
    module Processing
      # Tells whether this process may have lost its partitions without noticing: for half of the
      # session timeout it was stopped (SIGSTOP, a debugger, a frozen container), its event loop
      # didn't run, or no broker answered. Another member may process the same messages then, or
      # will soon.
      #
      #   lease = MembershipLease.new(22.5)
      #   lease.renew           # the event loop runs; has no effect after too long a gap
      #   lease.doubtful?       # true: ask the group before processing anything more
      #   lease.confirm         # the group has confirmed the membership
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

      class PartitionOwnership
        SECONDS = 5.0
        RETRY_SECONDS = 0.25
        private_constant :SECONDS, :RETRY_SECONDS

        attr_reader :limit #: Integer, nanoseconds between two messages after which to ask again

        # asks: false in a transactional source.
        #: (child: Child | Lane, partition: AssignedPartition, consumer: Consumer,
        #:   lease: MembershipLease, asks: bool) -> void
        def initialize(child:, partition:, consumer:, lease:, asks:)
          @consumer, @lease, @child, @partition = consumer, lease, child, partition
          @asks = asks
          @limit = (@lease.limit * 1e9).to_i
        end

        def revoked? = !@partition.revoked.nil? #: () -> bool

        def confirmed? #: () -> bool
          ask while @asks && @lease.doubtful? && !revoked? && !@child.stopping?
          !revoked? && !(@asks && @lease.doubtful?)
        end

        def inspect #: () -> String
          "#<Skep::Kafka::Processing::PartitionOwnership of #{@partition}>"
        end

        private

        # Without an answer, or if refused, it waits: the event loop soon hears of a lost partition.
        def ask
          place = @partition.restart or return @lease.confirm # nothing was read yet
          code = @child.busy(for: SECONDS + 1) { @consumer.commit([place], SECONDS) }
          return @lease.confirm if code.zero? && !@consumer.lost?

          (@pause ||= Threads::Inbox.new).pop(timeout: RETRY_SECONDS) # it remains empty
        end
      end
    end
  end
end
