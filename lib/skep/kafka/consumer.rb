# frozen_string_literal: true

# A member of a consumer group, as far as the client goes: it subscribes, takes and gives up
# partitions, stores and commits offsets. When to do so is the keeper's business.
#
#   consumer = Consumer.new(settings)
#   consumer.subscribe(["orders"])
#   consumer.control.drain { |event| consumer.assign(event.list) if event.kind == :rebalance … }
module Skep
  module Kafka
    class Consumer < Client
      #: (Hash[String, String]) -> void
      def initialize(settings) = super(settings, type: Native::CONSUMER)

      def subscribe(topics) #: (Array[String]) -> void
        PartitionList.make(topics.map { |topic| [topic, -1] }) do |list|
          check(Native.subscribe(handle, list.pointer), "the subscription to #{topics.join(", ")}")
        end
      end

      # Takes these partitions on top of what it has, or instead, as the group's protocol goes.
      def assign(list) #: (PartitionList) -> void
        if cooperative?
          check_error(Native.incremental_assign(handle, list.pointer), "an assignment")
        else
          check(Native.assign(handle, list.pointer), "an assignment")
        end
      end

      # Gives these up, or everything.
      def unassign(list) #: (PartitionList) -> void
        if cooperative?
          check_error(Native.incremental_unassign(handle, list.pointer), "a revocation")
        else
          check(Native.assign(handle, nil), "a revocation")
        end
      end

      # Were the partitions taken away without asking?
      def lost? = !Native.assignment_lost(handle).zero? #: () -> bool

      # A partition about to be assigned; see Partition.
      def partition(topic, number, **how) #: (String, Integer, **untyped) -> Partition
        Partition.new(Native.queue_get_partition(handle, topic, number), topic, number, **how)
      end

      # Notes the offset to commit next; of a partition that has just been revoked it is no more
      # ours to note.
      def store(topic, number, offset) #: (String, Integer, Integer) -> bool
        PartitionList.make([[topic, number, offset]]) do |list|
          Native.offsets_store(handle, list.pointer).zero?
        end
      end

      # Commits these offsets and waits for the answer, an error code; 0 is success.
      def commit(offsets, seconds) #: (Array[[String, Integer, Integer]], Numeric) -> Integer
        return 0 if offsets.empty?

        answers = queue
        code = PartitionList.make(offsets) do |list|
          Native.commit_queue(handle, list.pointer, answers.pointer, nil, nil)
        end
        return code unless code.zero?

        answers.wait(seconds, &:code) || Codes::TIMED_OUT
      ensure
        answers&.close
      end

      # Leaves the group if it must (a static member doesn't), serving the last revocation, for so
      # many seconds at most. Has it?
      def leave(seconds) #: (Numeric) { (Event) -> void } -> bool
        deadline = OS.now + seconds
        check_error(Native.consumer_close_queue(handle, control.pointer), "closing the consumer")
        until (closed = Native.consumer_closed(handle) == 1) || (left = deadline - OS.now).negative?
          control.wait([left, 0.1].max) { |event| yield event }
        end
        closed
      end

      private

      def cooperative? = Native.rebalance_protocol(handle) == "COOPERATIVE"
    end
    private_constant :Consumer
  end
end
