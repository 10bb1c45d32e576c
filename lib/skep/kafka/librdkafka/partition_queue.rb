# frozen_string_literal: true

require "skep/kafka/librdkafka/partition_queue/fallback"

# One partition's message queue inside a consumer. Its messages stay in this queue instead of being
# forwarded to the consumer's queue, so that each partition is read separately.
#
#   queue = PartitionQueue.new(consumer.handle, "orders", 3, 500)   # reads up to 500 at once
#   queue.notify(wakeup_pipe, 7)      # from here on librdkafka wakes the pipe with 7
#   message_set, errors, count = queue.read(500)   # what has been fetched; never waits
#   queue.position           # => 42, the offset after the last message or record read
#   queue.leader_epoch       # => 7, of the message before that offset
#   queue.low_watermark      # => 17
#   queue.close
#
# `read` is written in C, in ext/skep/kafka/partition_queue.c, and again in Ruby, in
# partition_queue/fallback.rb.
#
# MessageSet (below) is what a read returns, a copy: it outlives the queue, its client and a fork.
# The queue also holds the partition's errors: `read` returns them as [code, text, offset].
# Not thread-safe.
module Skep
  module Kafka
    module Librdkafka
      class PartitionQueue
        NO_HEADERS = {}.freeze
        private_constant :NO_HEADERS

        include Fallback

        # Returns true if the C extension reads, false if the Ruby fallback does.
        def self.native? = instance_method(:attach).owner == self

        def initialize(handle, topic, partition, limit)
          @handle = handle
          @topic = -topic # frozen: handlers see it
          @partition = partition
          @pointer = Bindings.queue_get_partition(handle, topic, partition)
          Bindings.queue_forward(@pointer, nil)
          @list = Bindings.topic_partition_list_new(1)
          @entry = Bindings.topic_partition_list_add(@list, topic, partition)
          @offset_at = Bindings::Structs::TopicPartition.offset_of(:offset)
          @watermarks = FFI::MemoryPointer.new(:int64, 2)
          attach(@pointer.address, @topic, partition, limit)
        end

        # From here on librdkafka writes `number` into the pipe when a message arrives in the empty
        # queue. A later queue of the same partition shares the native one: `close` silences both.
        def notify(wakeup_pipe, number)
          wakeup_pipe.attach(@pointer, number)
        end

        # Returns the offset after everything read from the queue, nil before the first read and
        # after an assignment or a seek. Records that aren't messages (the marker that ends each
        # transaction) pass through the queue too but are never returned: only the position shows
        # that they were passed.
        def position
          return unless @pointer

          Bindings.position(@handle, @list)
          offset = @entry.get_int64(@offset_at)
          offset unless offset.negative?
        end

        # Returns the leader epoch of what lies before the offset that `position` returned last.
        def leader_epoch = TopicPartitionList.epoch(@entry)

        # Returns the offset of the first message that retention has left, as of the last fetch; nil
        # before that.
        def low_watermark
          low, = watermarks
          low unless low.negative?
        end

        def close
          return unless @pointer

          detach
          Bindings.queue_io_event_enable(@pointer, -1, nil, 0)
          Bindings.queue_destroy(@pointer)
          Bindings.topic_partition_list_destroy(@list)
          @pointer = nil
        end

        def inspect = "#<Skep::Kafka::Librdkafka::PartitionQueue #{@topic}/#{@partition}>"

        private

        def watermarks
          Bindings.get_watermark_offsets(@handle, @topic, @partition, @watermarks, @watermarks + 8)
          @watermarks.read_array_of_int64(2)
        end
      end

      # The messages of one read of a partition. The C extension makes a compact subclass (Packed),
      # which makes strings on first use; this one is over Message objects.
      #
      #   message_set = MessageSet.new([message, message])
      #   message_set.each { |message| … }
      #   message_set.tracked = 1
      #   message_set.each_tracked(node, 1) { |message| … }; message_set.last_yielded_offset
      #   message_set.end_early                 # each_tracked ends after the current message
      #   message_set.size; message_set.first_offset; message_set.last_offset; message_set.payloads
      class MessageSet
        include Enumerable

        # Returns the messages as a message set, which they may already be.
        def self.of(messages) = messages.is_a?(MessageSet) ? messages : new(messages.to_a)

        # Returns several message sets as one.
        def self.join(message_sets)
          message_sets.one? ? message_sets.first : new(message_sets.flat_map(&:to_a))
        end

        def initialize(messages) = @messages = messages

        def each(&block)
          return enum_for(:each) { size } unless block

          @messages.each(&block)
          self
        end

        # Like `each`, but reports each message to the node first (`current_item`), so that the
        # supervisor knows which message was being processed if the node dies. Only the loop whose
        # number is `tracked` does that; any other loop only beats.
        #
        # With an ownership the loop ends early when the partition is revoked, or when the group
        # doesn't confirm after a long pause that it is still this member's. It returns nil, or the
        # offset of the last message yielded if it has ended early (-1: none). The first message is
        # yielded unless the partition is lost, since handlers rely on it.
        def each_tracked(node, number, ownership = nil)
          last = -1
          at = now
          each do |message|
            at, before = now, at
            return last if ownership && ended?(ownership, at - before, last.negative?)

            if tracked == number then node.current_item(@last_yielded_offset = message.offset)
            else node.beat
            end
            last = message.offset
            yield message
          end
          nil
        end

        # at_once: even before the first message.
        def end_early(at_once = false)
          @ended = at_once ? :at_once : true
        end

        attr_accessor :tracked # the number of the tracked loop
        attr_reader :last_yielded_offset # by the tracked loop

        def size = @messages.size
        def first_offset = @messages.first&.offset
        def last_offset = @messages.last&.offset
        def payloads = @messages.map(&:payload)

        # Returns about how much memory it holds.
        def bytes
          @messages.sum do |message|
            (message.payload&.bytesize || 0) + (message.key&.bytesize || 0)
          end
        end

        def empty? = size.zero?
        def inspect = "#<Skep::Kafka::Librdkafka::MessageSet size=#{size}>"

        private

        def now = (OS.now_with_suspends * 1e9).to_i

        def ended?(ownership, pause, first)
          return true if pause > ownership.limit && !ownership.confirmed?

          first ? @ended == :at_once : @ended
        end
      end
    end
  end
end
