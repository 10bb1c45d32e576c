# frozen_string_literal: true

# What the partitions of one handler in this process say about its dependencies: if others of them
# have succeeded since a message failed first, the message is bad, and it is no outage. The
# scheduler calls it under its lock.
#
#   evidence = OutageEvidence.new
#   evidence.succeeded(partition, began)     # a handler has processed or marked messages of it
#   evidence.failed(partition, OS.now)
#   evidence.success(partition, 41, 8, OS.now)   # => when the last success began; nil: none counts
#
# An outage may begin while others still succeed for a moment. So it is in doubt while more than
# half of the partitions fail, or if several others have begun to fail after the last success: two
# of them, or the only other one. A success that began SETTLED seconds after all of them had begun
# to fail ends the doubt.
#
# Suppose each partition has a bad message at its head: none succeeds any more, which looks like an
# outage. So after DOUBT seconds the last success counts for one message, in the partition that
# fails for longest. If that message was bad, the next one succeeds, and ends the doubt for all. If
# it is an outage, the next one fails, too, and the last success counts for none of them: at most
# one message of this process is given up wrongly, and only if others still succeeded after it had
# failed.
module Skep
  module Kafka
    module Failure
      class OutageEvidence
        SEVERAL = 2
        SETTLED = 1.0
        DOUBT = 3.0
        private_constant :SEVERAL, :SETTLED, :DOUBT

        def initialize
          @failing = {}.compare_by_identity # by partition: when it failed first after a success
          @since = [] # these times, ascending: thousands of partitions may fail
        end

        def succeeded(partition, began)
          @success = [@success, began].compact.max
          @probe = nil
          delete(partition)
        end

        def failed(partition, now)
          return if @failing.key?(partition)

          @failing[partition] = now
          @since.insert(@since.bsearch_index { |since| since > now } || -1, now)
        end

        # offset: of the message that is tried. assigned: how many partitions the handler has in
        # this process.
        def success(partition, offset, assigned, now)
          return if @success.nil?

          @success if certain?(partition, assigned) || probe?(partition, offset, now)
        end

        # The partition is revoked.
        def forget(partition)
          @probe = nil if @probe&.first.equal?(partition)
          delete(partition)
        end

        private

        def delete(partition)
          time = @failing.delete(partition) or return
          @since.delete_at(@since.bsearch_index { |since| since >= time })
        end

        def certain?(partition, assigned)
          others = last_others(partition)
          return true if others.all? { |since| since + SETTLED < @success }

          newer = others.count { |since| since > @success }
          @failing.size * 2 <= assigned && (newer.zero? || newer < [SEVERAL, assigned - 1].min)
        end

        # Since when the other partitions fail that began last: as many as `certain?` counts.
        def last_others(partition)
          last = @since.last(SEVERAL + 1)
          at = last.index(@failing[partition])
          at ? last.tap { last.delete_at(at) } : last
        end

        def probe?(partition, offset, now)
          return @probe == [partition, offset] if @probe

          since = @since.first
          longest = @failing.key(since) # it was added first
          return false unless longest.equal?(partition) && now - since >= DOUBT

          @probe = [partition, offset]
          true
        end
      end
    end
  end
end
