# frozen_string_literal: true

# The order of a partition's messages for each key by itself: which of them may be worked on now.
# A key that is in hand, or that failed and rests, holds up its own messages and no others, until
# the partition is `ahead` messages, or BYTES, beyond the lowest unfinished one.
#
#   order = KeyOrder.new(limit: 500, threads: 5, ahead: 5_000)
#
# The rest is as with PartitionOrder. Messages without a key (nil) wait for nobody.
# For one thread at a time, but for `keys`, whose block may ask the user's code (KeyExtractor).
module Skep
  module Kafka
    module Processing
      class KeyOrder
        BYTES = 16 << 20
        private_constant :BYTES

        # limit: maximum messages of a work item; threads: among how many workers to divide what
        # waits; message_keys: false if the user's callable gives the keys.
        #: (limit: Integer, threads: Integer, ahead: Integer, ?message_keys: bool) -> void
        def initialize(limit:, threads:, ahead:, message_keys: true)
          @limit, @threads, @ahead, @message_keys = limit, threads, ahead, message_keys
          @progress = OffsetTracker.new
          @free = {}  # key => messages, of keys that nobody has in hand
          @first = {} # the same, of those that have waited for their key
          @held = {}  # key => messages that wait for it
          @count = 0  # of messages in the first two
        end

        def position = @progress.position #: () -> Integer?
        def any? = @count.positive? #: () -> bool
        def held? = !any? && full? #: () -> bool
        def clear? = @progress.clear? #: () -> bool

        def room #: () -> Integer
          return 0 if @count >= @limit || full?

          [@limit, @ahead - @progress.ahead].min
        end

        # What a message set is kept as: its messages must stay the same ones.
        def unpack(message_set) = message_set.to_a #: (Librdkafka::MessageSet) -> Array[Message]

        # Returns true if `keys` doesn't know the keys: the worker asks the user's callable.
        def needs_keys? = !@message_keys #: () -> bool

        # The messages' own keys; of a message without one its offset.
        def keys(messages) #: (Array[Message]) -> Array[untyped]
          messages.map { |message| message.key || message.offset }
        end

        def put(messages, keys, bytes:) #: (Array[Message], Array[untyped], bytes: Integer) -> void
          @progress.open(messages.map(&:offset), bytes:)
          messages.zip(keys) { |message, key| wait(key, message) }
        end

        # A share of what may be worked on, in order.
        def take #: () -> [Array[Message], Hash[Integer, untyped]]?
          return unless any?

          share = [(@count + @threads - 1) / @threads, @limit].min
          taken = {}.compare_by_identity
          pick(share - taken.size, taken) while taken.size < share && any?
          messages = taken.keys.sort_by(&:offset)
          [messages, messages.to_h { |message| [message.offset, taken[message]] }]
        end

        def take_nothing = nil #: () -> void, others may go on meanwhile

        def done(batch, offset, after: nil) #: (Batch, Integer, ?after: Integer?) -> void
          messages = batch.messages
          from = after ? messages.bsearch_index { |message| message.offset > after } : 0
          messages.drop(from || messages.size).each do |message|
            break if message.offset > offset

            @progress.done(message.offset)
          end
        end

        def reach(offset) = @progress.reach(offset) #: (Integer) -> void

        def release(item) #: (WorkItem) -> void
          item.keys.each_value do |key|
            waiting = @held.delete(key) or next
            next if waiting.empty?

            @first[key] = waiting
            @count += waiting.size
          end
        end

        # The work item is left as it is; of what waits only messages before that offset are given
        # out from here on.
        def give_out_until(offset, item) #: (Integer, WorkItem) -> void
          @progress.leave(item.offsets)
          @held.each_value { |all| all.reject! { |message| message.offset >= offset } }
          [@free, @first].each { |waiting| cut_off(waiting, offset) }
          @count = [@free, @first].sum { |waiting| waiting.each_value.sum(&:size) }
        end

        # The lowest message before that offset that is still to be done.
        def unfinished(before) = @progress.unfinished(before) #: (Integer) -> Integer?

        def inspect
          "#<Skep::Kafka::Processing::KeyOrder #{position} free=#{@count} held=#{@held.size}>"
        end

        private

        def cut_off(waiting, offset)
          waiting.each_value { |all| all.reject! { |message| message.offset >= offset } }
          waiting.delete_if { |_, all| all.empty? }
        end

        def full? = @progress.ahead >= @ahead || @progress.bytes >= BYTES

        def wait(key, message)
          return @held[key] << message if @held.key?(key)

          @count += 1
          (@first[key] || (@free[key] ||= [])) << message
        end

        # Messages of one key, which is out from here on, into { message => key }.
        def pick(most, taken)
          key, waiting = (@first.empty? ? @free : @first).shift
          @count -= waiting.size
          some = waiting.shift(most)
          @held[key] = waiting
          some.each { |message| taken[message] = key }
        end
      end
    end
  end
end
