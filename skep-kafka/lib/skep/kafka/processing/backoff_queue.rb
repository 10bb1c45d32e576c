# frozen_string_literal: true

# Partitions and work items in backoff, each until its retry_at. Work items may also wait for
# a success of their partition. The scheduler calls it under its lock: it is not thread-safe.
#
#   backoff = BackoffQueue.new
#   backoff.add(item)                   # until item.retry_at (RetryBackoff)
#   backoff.add(item, OS.now)           # or until a success that began after that time
#   backoff.deadline                    # when the first backoff ends
#   backoff.due(OS.now)                 # => [item], removed: its backoff is over
#   backoff.succeeded(partition, began) # => [item], removed: it waited for that success
module Skep
  module Kafka
    module Processing
      class BackoffQueue
        def initialize
          @retry_at = {}.compare_by_identity # by partition or work item
          @awaiting = {}.compare_by_identity # by partition: { work item => time }
        end

        # awaiting: a success that began after that time ends the backoff early.
        def add(entry, awaiting = nil)
          @retry_at[entry] = entry.retry_at
          (@awaiting[entry.partition] ||= {}.compare_by_identity)[entry] = awaiting if awaiting
        end

        def delete(entry)
          @retry_at.delete(entry)
          return if @awaiting.empty?

          items = @awaiting[entry.partition] or return
          items.delete(entry)
          @awaiting.delete(entry.partition) if items.empty?
        end

        # Removes the partition and its work items, or those for which the block is true.
        def drop(partition)
          @retry_at.keys.each do |entry|
            same = entry.partition.equal?(partition)
            delete(entry) if same && (!block_given? || yield(entry))
          end
        end

        # Returns true if a work item waits for a success of the partition.
        def awaiting?(partition) = @awaiting.key?(partition)

        # Ends the backoff of the first work item that waits for a success of the partition by
        # that time. Returns false if there is none.
        def probe(partition, time)
          items = @awaiting[partition] or return false
          first = items.each_key.min_by(&:retry_at)
          if first.retry_at > time
            first.wait_until(time)
            @retry_at[first] = time
          end
          true
        end

        # Removes and returns what a success ends that began then.
        def succeeded(partition, began)
          items = @awaiting[partition] or return []
          over = items.filter_map { |item, awaiting| item if awaiting < began }
          over.each { |item| delete(item) }
        end

        # When the first backoff ends, in monotonic seconds; nil if none does.
        def deadline = @retry_at.each_value.reject(&:infinite?).min

        # Removes and returns what is over. (Hash#select by identity leaks memory in Ruby 3.1.)
        def due(now)
          over = @retry_at.filter_map { |entry, time| entry if time <= now }
          over.each { |entry| delete(entry) }
        end

        def inspect = "#<#{self.class} size=#{@retry_at.size}>"
      end
    end
  end
end
