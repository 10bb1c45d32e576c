# frozen_string_literal: true

# Whether a partition is still this node's, for the handler that processes one of its batches.
#
#   ownership = PartitionOwnership.new(tools, child, partition)
#   ownership.revoked?      # the group asks for it, or has taken it
#   ownership.confirmed?    # is it ours? Asks the group where that is doubtful (MembershipLease)
#
# The group is asked by a commit of what is done: the broker refuses that of a member it doesn't
# know. In a transactional source the transaction's own commit does so.
module Skep
  module Kafka
    module Processing
      class PartitionOwnership
        SECONDS = 5.0
        RETRY_SECONDS = 0.25
        private_constant :SECONDS, :RETRY_SECONDS

        attr_reader :limit #: Integer, nanoseconds between two messages after which to ask again

        def initialize(tools, child, partition) #: (Tools, Child | Lane, AssignedPartition) -> void
          @consumer, @lease, @child = tools.consumer, tools.lease, child
          @partition = partition
          @asks = !tools.options.transactional
          @limit = (@lease.limit * 1e9).to_i
        end

        def revoked? = !@partition.revoked.nil? #: () -> bool

        def confirmed? #: () -> bool
          ask while @asks && @lease.doubtful? && !revoked? && !@child.stopping?
          !revoked? && !(@asks && @lease.doubtful?)
        end

        def inspect
          "#<Skep::Kafka::Processing::PartitionOwnership of #{@partition}>"
        end #: () -> String

        private

        # Without an answer, or refused, it waits: the event loop hears of a lost partition soon.
        def ask
          place = @partition.restart or return @lease.confirm # nothing was read yet
          code = @child.busy(for: SECONDS + 1) { @consumer.commit([place], SECONDS) }
          return @lease.confirm if code.zero? && !@consumer.lost?

          (@pause ||= Threads::Inbox.new).pop(timeout: RETRY_SECONDS) # into which nothing comes
        end
      end
    end
  end
end
