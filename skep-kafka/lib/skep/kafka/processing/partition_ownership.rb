# frozen_string_literal: true

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
module Skep
  module Kafka
    module Processing
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
