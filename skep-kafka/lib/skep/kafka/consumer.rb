# frozen_string_literal: true

# A librdkafka consumer that is a member of a consumer group: subscribes, assigns partitions, stores
# and commits offsets, and leaves the group.
#
# Consumer decides nothing. Consumer::GroupMember subscribes, RebalanceListener accepts assignments
# and revocations, and EventLoop leaves the group. Processing::Scheduler stores the offsets of done
# batches. Which thread commits offsets when is listed above Processing::Completion
# (processing/completion.rb).
#
#   consumer = Consumer.new(settings)
#   consumer.subscribe(["orders"])
#   consumer.control.drain { |event| consumer.assign(event.list) if event.kind == :rebalance … }
#   consumer.leave(10) { |event| … }
#   consumer.close
module Skep
  module Kafka
    class Consumer < Librdkafka::Client
      include Librdkafka::OffsetQueries

      MEMBERSHIP_POLL = 0.05 # seconds; librdkafka sends no event when it has joined or left
      SEEK_SECONDS = 5.0
      REQUEST_PARTITIONS = 100 # a broker stores a commit as one record batch, of 1 MiB at most
      private_constant :MEMBERSHIP_POLL, :SEEK_SECONDS, :REQUEST_PARTITIONS

      attr_reader :instance_id # group.instance.id

      def initialize(settings)
        @group, @instance_id = settings.values_at("group.id", "group.instance.id")
        @static = @instance_id && !Config::GroupProtocol.new(settings).broker_assigned?
        super(settings, type: Librdkafka::Bindings::CONSUMER)
        @reset = settings.fetch("auto.offset.reset", "largest")
      end

      def subscribe(topics)
        Librdkafka::TopicPartitionList.make(topics.map { |topic| [topic, -1] }) do |list|
          check(Librdkafka::Bindings.subscribe(handle, list.pointer),
                "the subscription to #{topics.join(", ")}")
        end
      end

      # Leaves the group, also as a static member, and joins it again once the partitions are given
      # up: the group rebalances.
      def rejoin(topics)
        check(Librdkafka::Bindings.unsubscribe(handle), "leaving the group")
        subscribe(topics)
      end

      # Accepts an assignment. In a cooperative group the list is added to the current assignment,
      # otherwise it replaces it.
      def assign(list)
        if cooperative?
          check_error(Librdkafka::Bindings.incremental_assign(handle, list.pointer),
                      "an assignment")
        else
          check(Librdkafka::Bindings.assign(handle, list.pointer), "an assignment")
        end
      end

      # Returns true if an assignment adds to the current one, instead of replacing it.
      def cooperative? = Librdkafka::Bindings.rebalance_protocol(handle) == "COOPERATIVE"

      # Accepts a revocation: of this list in a cooperative group, otherwise of all partitions.
      def unassign(list)
        if cooperative?
          check_error(Librdkafka::Bindings.incremental_unassign(handle, list.pointer),
                      "a revocation")
        else
          check(Librdkafka::Bindings.assign(handle, nil), "a revocation")
        end
      end

      # Returns true if the group took the partitions away without asking, as after a missed
      # session timeout.
      def lost? = !Librdkafka::Bindings.assignment_lost(handle).zero?

      # Returns the reader of a partition that is about to be assigned. limit: maximum messages of
      # a read.
      def reader(topic, number, limit:, fetch_errors: nil)
        queue = Librdkafka::PartitionQueue.new(handle, topic, number, limit)
        Processing::PartitionReader.new(queue, topic, number, fetch_errors:)
      end

      # Stores the offset for the next automatic commit. Returns false for a partition that isn't
      # assigned any more. offset: nil for none. epoch: of the message before the offset, if known.
      def store(topic, number, offset, epoch = nil, metadata = nil)
        entry = [topic, number, offset, epoch, (metadata unless @without_metadata)]
        Librdkafka::TopicPartitionList.make([entry]) do |list|
          Librdkafka::Bindings.offsets_store(handle, list.pointer).zero?
        end
      end

      # Continues reading at these offsets; messages fetched before aren't returned any more.
      def seek(offsets, seconds)
        Librdkafka::TopicPartitionList.make(offsets) do |list|
          milliseconds = (seconds * 1000).ceil
          check_error(Librdkafka::Bindings.seek_partitions(handle, list.pointer, milliseconds),
                      "a seek")
          list.to_a.each { |_, _, _, code| check(code, "a seek") }
        end
      end

      # Continues reading a partition at a place: an offset, :beginning, :end or a Time. Returns the
      # offset. Commits it first, so that another node continues there too if this one dies. Raises
      # LibrdkafkaError without a broker's answer; the position hasn't changed then. origin: the
      # OffsetOrigin to commit. Yields the offset before anything else happens.
      def commit_and_seek(topic, number, place, origin = nil)
        offset = place.is_a?(Integer) ? place : find([topic, number], place, SEEK_SECONDS)
        yield offset
        # Stored as well, or the next automatic commit would restore the old offset. Without a
        # leader epoch, with which librdkafka would compare the epochs of what it reads next.
        entry = [topic, number, offset, nil, Processing::CommitMetadata.write(offset, origin:)]
        store(*entry)
        check(commit([entry], SEEK_SECONDS), "a commit")
        seek([[topic, number, offset]], SEEK_SECONDS)
        offset
      end

      # Commits these offsets, with leader epochs and metadata where they are given, and waits for
      # the answer. Returns an error code; 0 is success.
      def commit(offsets, seconds) = begin_commit(offsets).wait(seconds)

      # The same without waiting. Returns a PendingCommit, whose `wait` has to be called.
      #
      # Call it under the scheduler's lock (Scheduler#committable_offsets) while partitions may
      # seek: a commit whose request goes out after that of a seek would take the group's offset
      # back.
      def begin_commit(offsets)
        requests = offsets.each_slice(REQUEST_PARTITIONS).map do |some|
          answers = queue
          [some, answers, request_commit(some, answers)]
        end
        PendingCommit.new(self, requests)
      end

      # Before an unassignment, when nothing more is done: librdkafka commits stored offsets then,
      # and would commit these without their metadata.
      def store_metadata(offsets)
        some = offsets.select { |entry| entry[4] }
        return if some.empty? || @without_metadata

        Librdkafka::TopicPartitionList.make(some) do |list|
          Librdkafka::Bindings.offsets_store(handle, list.pointer)
        end
      end

      # As `commit`, without waiting. The answer is an event of `control`, like that of librdkafka's
      # own commits.
      def commit_later(offsets)
        offsets.each_slice(REQUEST_PARTITIONS) { |some| request_commit(some, control) }
      end

      # Commits have no metadata any more after the answer of a broker that accepts less of it than
      # others do (offset.metadata.max.bytes). Returns true for that answer.
      def forgo_metadata(event)
        return false if @without_metadata

        code = Librdkafka::ErrorCode::OFFSET_METADATA_TOO_LARGE
        @without_metadata = event.list.to_a.any? { |entry| entry.last == code }
      end

      # The same after the error of a transaction, whose entry then has none either.
      def forgo_metadata_after(code)
        @without_metadata ||= code == Librdkafka::ErrorCode::OFFSET_METADATA_TOO_LARGE
      end

      def without_metadata? = @without_metadata ? true : false

      # Returns the group and the member's name in it.
      def identity = [@group, @instance_id]

      # Returns the group's generation that this member is in; nil if it is in none.
      def generation
        metadata = Librdkafka::Bindings.consumer_group_metadata(handle)
        return if metadata.null?

        number = Librdkafka::Bindings.consumer_group_metadata_generation_id(metadata)
        number unless number.negative?
      ensure
        Librdkafka::Bindings.consumer_group_metadata_destroy(metadata) unless metadata.null?
      end

      # Returns true for a static member, whose partitions stay assigned to it after `leave` until
      # its session ends or it joins again, unless it leaves for good. (By the protocol of KIP-848
      # none can: librdkafka's leave of a static member is always temporary.)
      def static_member? = @static ? true : false

      # Leaves the group even as a static member, within so many seconds. Call it before `leave`.
      # Yields each event, among them the last revocation. Returns false if no broker has answered.
      def leave_for_good(seconds, &)
        return true if @left_for_good

        # Wait until a pending JoinGroup has completed; otherwise the broker would add the member
        # after it has left. Without any topic it never completes.
        @left_for_good = true
        deadline = OS.now + (seconds / 2)
        serve_until(deadline, &) while !member? && OS.now < deadline
        deadline += seconds / 2
        check(Librdkafka::Bindings.unsubscribe(handle), "leaving the group")
        serve_until(deadline, &) while member? && OS.now < deadline
        !member?
      end

      # Ends the membership, within so many seconds: a dynamic member leaves the group, a static
      # member keeps its place. Returns true if librdkafka has finished. Yields each event, among
      # them the last revocation.
      #
      # A consumer that closes during a rebalance is asked twice to give up its partitions, but
      # librdkafka takes the first answer for both; answering the second one may block forever.
      def leave(seconds)
        deadline = OS.now + seconds
        check_error(Librdkafka::Bindings.consumer_close_queue(handle, control.pointer),
                    "closing the consumer")
        revoked = false
        until (closed = left?) || OS.now > deadline
          control.wait([deadline - OS.now, 0.1].max) do |event|
            rebalance = event.kind == :rebalance
            yield event unless rebalance && revoked
            revoked ||= rebalance
          end
        end
        closed
      end

      private

      def request_commit(offsets, answers)
        offsets = offsets.map { |entry| entry.first(4) } if @without_metadata
        Librdkafka::TopicPartitionList.make(offsets) do |list|
          Librdkafka::Bindings.commit_queue(handle, list.pointer, answers.pointer, nil, nil)
        end
      end

      # Returns true from the answer to its JoinGroup until it leaves: librdkafka has a member id.
      def member?
        id = Librdkafka::Bindings.memberid(handle)
        !id.null? && !id.read_string.empty?
      ensure
        Librdkafka::Bindings.mem_free(handle, id) if id
      end

      def left? = Librdkafka::Bindings.consumer_closed(handle) == 1

      def serve_until(deadline, &)
        control.wait((deadline - OS.now).clamp(0, MEMBERSHIP_POLL), &)
      end

      def failure(code, text)
        kept = code == Librdkafka::ErrorCode::UNRELEASED_INSTANCE_ID
        return super unless kept || code == Librdkafka::ErrorCode::FENCED_INSTANCE_ID

        InstanceIdTaken.new(name: @instance_id, group: @group,
                            cause: Librdkafka::Bindings.err2str(code), kept:)
      end
    end
  end
end
