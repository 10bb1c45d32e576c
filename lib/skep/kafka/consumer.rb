# frozen_string_literal: true

# A member of a consumer group, as far as the client goes: it subscribes, takes and gives up
# partitions, stores and commits offsets. When to do so is the event loop's business.
#
#   consumer = Consumer.new(settings)
#   consumer.subscribe(["orders"])
#   consumer.control.drain { |event| consumer.assign(event.list) if event.kind == :rebalance … }
module Skep
  module Kafka
    class Consumer < Librdkafka::Client
      include Librdkafka::OffsetQueries
      include Librdkafka::Membership

      attr_reader :fetch_wait #: Librdkafka::FetchWait?, nil where the settings say how long

      def initialize(settings) #: (Hash[String, String]) -> void
        @group, @name = settings.values_at("group.id", "group.instance.id")
        @stays = @name && !Config::GroupProtocol.new(settings).broker_assigned?
        super(settings, type: Librdkafka::Bindings::CONSUMER)
        @fetch_wait = Librdkafka::FetchWait.for(handle, settings)
        @reset = settings.fetch("auto.offset.reset", "largest")
      end

      def subscribe(topics) #: (Array[String]) -> void
        Librdkafka::TopicPartitionList.make(topics.map { |topic| [topic, -1] }) do |list|
          check(Librdkafka::Bindings.subscribe(handle, list.pointer),
                "the subscription to #{topics.join(", ")}")
        end
      end

      # Takes these partitions on top of what it has, or instead, as the group's protocol goes.
      def assign(list) #: (Librdkafka::TopicPartitionList) -> void
        if cooperative?
          check_error(Librdkafka::Bindings.incremental_assign(handle, list.pointer),
                      "an assignment")
        else
          check(Librdkafka::Bindings.assign(handle, list.pointer), "an assignment")
        end
      end

      # Gives these up, or everything.
      def unassign(list) #: (Librdkafka::TopicPartitionList) -> void
        if cooperative?
          check_error(Librdkafka::Bindings.incremental_unassign(handle, list.pointer),
                      "a revocation")
        else
          check(Librdkafka::Bindings.assign(handle, nil), "a revocation")
        end
      end

      # Were the partitions taken away without asking?
      def lost? = !Librdkafka::Bindings.assignment_lost(handle).zero? #: () -> bool

      # A partition about to be assigned; see Processing::AssignedPartition. Without forwarding its
      # messages stay in its queue, instead of joining all others in the consumer's.
      #: (String, Integer, limit: Integer, **untyped) -> Processing::AssignedPartition
      def partition(topic, number, limit:, **how)
        queue = Librdkafka::PartitionQueue.new(handle, topic, number, limit)
        partition = Processing::AssignedPartition.new(queue, topic, number, limit:, **how)
        partition.tap { partition.reader.fetch_wait = @fetch_wait }
      end

      # Notes the offset to commit next; of a partition that has just been revoked it is no more
      # ours to note. epoch: the leader epoch of the message before that offset, where it is known.
      #: (String, Integer, Integer, ?Integer?) -> bool
      def store(topic, number, offset, epoch = nil)
        Librdkafka::TopicPartitionList.make([[topic, number, offset, epoch]]) do |list|
          Librdkafka::Bindings.offsets_store(handle, list.pointer).zero?
        end
      end

      # Goes on reading these from there: what was fetched already isn't given out any more.
      def seek(offsets, seconds) #: (Array[[String, Integer, Integer]], Numeric) -> void
        Librdkafka::TopicPartitionList.make(offsets) do |list|
          milliseconds = (seconds * 1000).ceil
          check_error(Librdkafka::Bindings.seek_partitions(handle, list.pointer, milliseconds),
                      "a seek")
          list.to_a.each { |_, _, _, code| check(code, "a seek") }
        end
      end

      # The same, which is committed first: a node that dies meanwhile is succeeded by one that
      # begins there. (What was stored before would be committed again.) It is committed without a
      # leader epoch: librdkafka would compare that with the epochs of what is read from there on.
      def move(offsets, seconds) #: (Array[[String, Integer, Integer]], Numeric) -> void
        offsets.each { |place| store(*place) }
        check(commit(offsets, seconds), "a commit")
        seek(offsets, seconds)
      end

      # Commits these offsets, with their leader epochs where they have them, and waits for the
      # answer, an error code; 0 is success.
      #: (Array[[String, Integer, Integer, Integer?]], Numeric) -> Integer
      def commit(offsets, seconds)
        return 0 if offsets.empty?

        answers = queue
        code = Librdkafka::TopicPartitionList.make(offsets) do |list|
          Librdkafka::Bindings.commit_queue(handle, list.pointer, answers.pointer, nil, nil)
        end
        return code unless code.zero?

        answers.wait(seconds, &:code) || Librdkafka::ErrorCode::TIMED_OUT
      ensure
        answers&.close
      end

      def close #: () -> void
        super
        @fetch_wait&.close
      end

      def abandon #: () -> void
        super
        @fetch_wait&.close
      end

      private

      def failure(code, text)
        return super unless [Librdkafka::ErrorCode::FENCED_INSTANCE_ID, Librdkafka::ErrorCode::UNRELEASED_INSTANCE_ID].include?(code)

        InstanceIdTaken.new(name: @name, group: @group, cause: Librdkafka::Bindings.err2str(code),
                      kept: code == Librdkafka::ErrorCode::UNRELEASED_INSTANCE_ID)
      end

      def cooperative? = Librdkafka::Bindings.rebalance_protocol(handle) == "COOPERATIVE"
    end
  end
end
