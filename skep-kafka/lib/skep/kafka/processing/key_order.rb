# frozen_string_literal: true

# Keeps the messages of each key in order: decides which of a partition's messages may be processed
# now. A key that is being processed or in backoff delays its own messages and no others, until the
# partition has read `max_out_of_order` messages beyond the lowest unfinished one, or unfinished
# messages hold BYTES.
#
#   order = KeyOrder.new(done_offsets, limit: 500, threads: 5, max_out_of_order: 5_000)
#   order.put(messages, keys, 70_000)   # the keys: one for each message
#
# The messages of one read share their memory. Those that may wait for long are copied: messages of
# a work item that waits for its retry, and messages behind a busy key if memory is short.
#
# A key has no thread of its own: any free worker takes the next item (Scheduler#next_item). It has
# the methods of PartitionOrder; the partition's DoneOffsets knows which messages are done. Not
# thread-safe.
module Skep
  module Kafka
    module Processing
      class KeyOrder
        BYTES = 16 << 20
        COPY_BYTES = 600 # that Ruby needs for the copy of a message
        private_constant :BYTES, :COPY_BYTES

        # limit: maximum messages of a work item; threads: among how many workers to divide what
        # waits.
        def initialize(done_offsets, limit:, threads:, max_out_of_order:)
          @done_offsets = done_offsets
          @limit, @threads, @max_out_of_order = limit, threads, max_out_of_order
          @fresh = {}     # key => messages, of keys that no work item has
          @waited = {}    # the same, of keys whose messages have waited for a work item
          @busy = {}      # key => messages that wait for the work item with that key
          @count = 0      # of messages in the first two
        end

        def any? = @count.positive?
        def blocked? = !any? && full?
        def clear? = @done_offsets.clear?

        def room
          return 0 if @count >= @limit || full?

          [@limit, @max_out_of_order - @done_offsets.ahead].min
        end

        def put(messages, keys, bytes)
          @done_offsets.open(messages.map(&:offset), bytes:)
          messages.zip(keys) { |message, key| enqueue(key, message) }
        end

        # A worker's share of the messages that may be processed, in order.
        def take
          return unless any?

          share = [(@count + @threads - 1) / @threads, @limit].min
          taken = {}.compare_by_identity
          pick(share - taken.size, taken) while taken.size < share && any?
          copy_waiting if short_of_memory? && !any?
          messages = taken.keys.sort_by(&:offset)
          [messages, messages.to_h { |message| [message.offset, taken[message]] }]
        end

        def take_nothing = nil # other work items may be taken meanwhile

        def release(item)
          item.keys.each_value do |key|
            waiting = @busy.delete(key) or next
            next if waiting.empty?

            @waited[key] = waiting
            @count += waiting.size
          end
        end

        # The work item waits for its retry: it keeps copies of its messages.
        def await_retry(item) = item.copy_messages { |message| copy(message) }

        # A seek waits for the messages before that offset, without those of the work item: only
        # they are taken from here on. behind: without those of the same keys behind it, too.
        def take_until(offset, item, behind: false)
          @done_offsets.ignore(item.offsets)
          @done_offsets.ignore(drop_behind(item).map(&:offset)) if behind
          @busy.each_value { |all| all.reject! { |message| message.offset >= offset } }
          [@fresh, @waited].each { |waiting| drop_from(waiting, offset) }
          @count = [@fresh, @waited].sum { |waiting| waiting.each_value.sum(&:size) }
        end

        def inspect
          "#<Skep::Kafka::Processing::KeyOrder waiting=#{@count} busy_keys=#{@busy.size}>"
        end

        private

        def drop_behind(item)
          item.keys.values_at(*item.offsets).uniq.flat_map { |key| @busy[key].slice!(0..) }
        end

        def drop_from(waiting, offset)
          waiting.each_value { |all| all.reject! { |message| message.offset >= offset } }
          waiting.delete_if { |_, all| all.empty? }
        end

        def full? = @done_offsets.ahead >= @max_out_of_order || short_of_memory?
        def short_of_memory? = @done_offsets.bytes >= BYTES

        def copy_waiting
          @busy.each_value { |waiting| waiting.map! { |message| copy(message) } }
        end

        # Returns a copy of the message, or the message if it is one already.
        def copy(message)
          return message unless @done_offsets.shared?(message.offset)

          bytes = Librdkafka::MessageSet.new([message]).bytes + COPY_BYTES
          @done_offsets.copied(message.offset, bytes:)
          message.dup
        end

        def enqueue(key, message)
          return @busy[key] << message if @busy.key?(key)

          @count += 1
          (@waited[key] || (@fresh[key] ||= [])) << message
        end

        # Adds messages of one key to { message => key }. The key is in flight from here on.
        def pick(most, taken)
          key, waiting = (@waited.empty? ? @fresh : @waited).shift
          @count -= waiting.size
          some = waiting.shift(most)
          @busy[key] = waiting
          some.each { |message| taken[message] = key }
        end
      end
    end
  end
end
