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
          @queue = [] # those whose backoff ends, the first one first
          @items = {}.compare_by_identity # by partition: { work item => true }
          @awaiting = {}.compare_by_identity # by partition: { work item => time }
        end

        # awaiting: a success that began after that time ends the backoff early.
        def add(entry, awaiting = nil)
          delete(entry)
          enqueue(entry, entry.retry_at)
          partition = entry.partition
          note(@items, partition, entry, true) unless entry.equal?(partition)
          note(@awaiting, partition, entry, awaiting) if awaiting
        end

        def delete(entry)
          return unless @retry_at.key?(entry)

          dequeue(entry)
          forget(entry)
        end

        # Removes the partition and its work items, or those for which the block is true.
        def drop(partition)
          [partition, *@items[partition]&.keys].each do |entry|
            delete(entry) if @retry_at.key?(entry) && (!block_given? || yield(entry))
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
            dequeue(first)
            enqueue(first, time)
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
        def deadline = @retry_at[@queue.first]

        # Removes and returns what is over. (Array#shift would keep it in memory until the next
        # `add`.)
        def due(now)
          over = @queue.slice!(0, place { |time| time > now })
          over.each { |entry| forget(entry) }
        end

        def inspect = "#<#{self.class} size=#{@retry_at.size}>"

        private

        def enqueue(entry, retry_at)
          @retry_at[entry] = retry_at
          @queue.insert(place { |time| time > retry_at }, entry) unless retry_at.infinite?
        end

        def dequeue(entry)
          retry_at = @retry_at[entry]
          return if retry_at.infinite?

          at = place { |time| time >= retry_at }
          at += 1 until @queue[at].equal?(entry) # several may end at the same time
          @queue.delete_at(at)
        end

        # Where the first entry in the queue is for whose time the block is true: by bisection, as
        # thousands may fail at once.
        def place = @queue.bsearch_index { |entry| yield @retry_at[entry] } || @queue.size

        def note(by_partition, partition, item, fact)
          (by_partition[partition] ||= {}.compare_by_identity)[item] = fact
        end

        def forget(entry)
          @retry_at.delete(entry)
          [@items, @awaiting].each do |by_partition|
            some = by_partition[entry.partition] or next
            some.delete(entry)
            by_partition.delete(entry.partition) if some.empty?
          end
        end
      end
    end
  end
end
