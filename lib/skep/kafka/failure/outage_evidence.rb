# frozen_string_literal: true

# What the partitions of one handler in this process say about its dependencies: if others of them
# have succeeded since a message failed first, the message is bad, and it is no outage. The
# scheduler calls it under its lock.
#
#   evidence = OutageEvidence.new
#   evidence.succeeded(partition, began)     # a handler has processed or marked messages of it
#   evidence.failed(partition, OS.now)
#   evidence.success(partition, 8)           # => when the last success began; nil: none counts
#
# An outage may begin while others still succeed for a moment. So nothing counts while more than
# half of the partitions fail, or if several others have begun to fail after the last success: two
# of them, or the only other one.
module Skep
  module Kafka
    module Failure
      class OutageEvidence
        SEVERAL = 2
        private_constant :SEVERAL

        def initialize
          @failing = {}.compare_by_identity # by partition: when it failed first after a success
        end

        def succeeded(partition, began)
          @success = [@success, began].compact.max
          @failing.delete(partition)
        end

        def failed(partition, now) = @failing[partition] ||= now

        # assigned: how many partitions the handler has in this process.
        def success(partition, assigned)
          return if @success.nil? || @failing.size * 2 > assigned

          others = @failing.count do |other, since|
            since > @success && !other.equal?(partition)
          end
          @success if others.zero? || others < [SEVERAL, assigned - 1].min
        end

        # The partition is revoked.
        def forget(partition) = @failing.delete(partition)
      end
    end
  end
end
