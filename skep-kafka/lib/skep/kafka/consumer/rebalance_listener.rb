# frozen_string_literal: true

# Hands assigned partitions to the scheduler, and takes revoked ones from it: waits for their
# handlers and commits what is done. Calls the user's callbacks (AssignmentCallbacks). Called by the
# event loop.
#
#   listener.partitions_assigned(list)
#   listener.partitions_revoked(list)    # revoked, or lost already
#   listener.partitions_released(list)   # the last revocation of a consumer that closes
#   listener.partitions_lost             # all of them: librdkafka had a fatal error
#   listener.abandon                     # all of them, before the node leaves with work in progress
#   listener.topics_recreated(keys)      # their topics were deleted and created again
#   listener.commit                      # what is done, as soon as a coordinator answers
#   listener.try_commit                  # what is done, once; => an error code
#   listener.report_commit(code)         # reports a commit that failed
#   listener.close                       # no handler runs any more
#   listener.joined?; listener.without_partitions?
module Skep
  module Kafka
    class Consumer
      class RebalanceListener
        QUICK_SECONDS = 0.5 # within which handlers usually end
        WARN_SECONDS = 5.0 # so long before a partition is given up under its handler, a warning
        COMMIT_SECONDS = 5.0
        RETRY_SECONDS = 0.25
        COMMITTED_SECONDS = 2.0
        LISTED = 2_000 # partitions that an event lists at most
        private_constant :QUICK_SECONDS, :WARN_SECONDS, :COMMIT_SECONDS, :RETRY_SECONDS,
                         :COMMITTED_SECONDS, :LISTED

        def initialize(options:, node:, report:, consumer:, scheduler:, metrics:, lease:,
                       broker_outage:, leave_policy:, fetch_errors:, topic_recreation:,
                       progress: nil)
          @options, @node, @report = options, node, report
          @consumer, @scheduler, @metrics, @lease = consumer, scheduler, metrics, lease
          @broker_outage, @leave_policy = broker_outage, leave_policy
          @fetch_errors, @topic_recreation = fetch_errors, topic_recreation
          @progress = progress
          @callbacks = AssignmentCallbacks.for(options, node, report)
          @last_id = 0
          @pause = Threads::Inbox.new # stays empty: only its timeout is used
        end

        # Returns true once this member had an assignment.
        def joined? = @joined ? true : false

        # Returns true if this member lost its partitions, and had no assignment since.
        def without_partitions? = @lost ? true : false

        # Connects each partition's queue to the scheduler before the assignment, so that no message
        # goes to the consumer's own queue. A partition begins at the group's committed offset, also
        # one that this node had before: another member may have processed messages after that
        # offset without committing them, so messages that this node has already processed are
        # redelivered in their order.
        def partitions_assigned(list)
          revoke_replaced(list) unless @consumer.cooperative?
          commit
          add(list)
          @progress&.assigned
          @consumer.assign(list)
          @joined = true
          @lost = false
          report_rebalance("assigned", list.keys)
        end

        # Waits up to `rebalance_wait` for the handlers, by default 0.8 of max.poll.interval.ms, for
        # which Kafka waits for this member, in each of its rebalance protocols.
        # Scheduler#begin_revocation ends batches in progress early: `Batch#each` stops. After
        # #finish_revocation `mark` returns false.
        def partitions_revoked(list)
          @lost = lost = @consumer.lost?
          @broker_outage.session_lost if lost
          revoke(list.keys, list, lost) { |done| done }
        end

        # What is done was committed before.
        def partitions_released(list)
          held = @scheduler.keys
          done = revoke_at_once(held)
          @consumer.store_metadata(done) unless @options.transactional
          @consumer.unassign(list)
          report_rebalance("revoked", held)
        end

        # Nothing more will be committed.
        def partitions_lost
          lost = @scheduler.keys
          revoke_at_once(lost)
          report_rebalance("lost", lost) if lost.any?
        end

        # Revokes all partitions without waiting for handlers, and commits what is done.
        def abandon
          done = revoke_at_once(@scheduler.keys)
          report_commit(@consumer.commit(done, COMMIT_SECONDS))
          @consumer.store_metadata(done) unless @options.transactional
        end

        # No handler runs any more, and none will.
        def close = @callbacks&.close

        # The old topic's offsets mean nothing in the new topic: commits where that is to be read
        # from, and reads no more of it.
        def topics_recreated(keys)
          revoke_at_once(keys)
          starts = find_starts(keys)
          starts.each { |entry| @consumer.store(*entry) } # or librdkafka commits the old offset
          report_recreated(keys)
          commit_starts(starts)
        end

        RECREATED = "the topic was deleted and created again"
        RESET = "skep reads it from where auto.offset.reset says"
        private_constant :RECREATED, :RESET

        # Commits what is done of the assigned partitions, before new ones come and after an outage.
        # Returns true if an offset was committed: the group knows this member then. While handlers
        # run, only transactions commit the offsets of a transactional source: this request might
        # arrive after a transaction's that began later, and would take the group's offset back.
        def commit
          return false if @options.transactional

          any = false
          code = commit_with_retries do
            pending = nil
            done = @scheduler.committable_offsets { |all| pending = @consumer.begin_commit(all) }
            any = done.any?
            pending
          end
          any && report_commit(code) && !@consumer.lost?
        end

        # Waits for the answer until the deadline, but a second at least.
        def try_commit(deadline)
          done = @scheduler.committable_offsets
          @consumer.commit(done, (deadline - OS.now).clamp(1.0, COMMIT_SECONDS))
        end

        # Returns true if the code is that of a successful commit; reports any other.
        def report_commit(code)
          return code.zero? if [0, Librdkafka::ErrorCode::NO_OFFSET].include?(code)

          @report.problem(Librdkafka::Bindings.err2name(code), Librdkafka::Bindings.err2str(code),
                          name: :kafka_commit_failed, level: :warn)
          false
        end

        def inspect = "#<Skep::Kafka::Consumer::RebalanceListener #{@scheduler.inspect}>"

        private

        # Waits for the handlers, unless the partitions are lost. Yields what is done, and commits
        # what the block returns.
        def revoke(keys, list, lost)
          deadline = OS.now + @options.rebalance_wait
          leaving = @scheduler.begin_revocation(keys)
          await_handlers(leaving, deadline) unless lost
          @callbacks&.revoked(leaving)
          done = @scheduler.finish_revocation(leaving)
          commit_before_unassign(yield(done), deadline) unless lost
          @consumer.unassign(list)
          report_rebalance(lost ? "lost" : "revoked", keys)
        end

        # While librdkafka waits for an assignment to be accepted, it begins another rebalance
        # without a revocation: the next assignment replaces that one. Commits only what stays here:
        # other members may have the rest already.
        # Source: rd_kafka_cgrp_revoke_all_rejoin in librdkafka's rdkafka_cgrp.c.
        def revoke_replaced(list)
          held = @scheduler.keys
          return if held.empty?

          stays = list.keys.to_h { |key| [key, true] }
          revoke(held, list, @consumer.lost?) do |done|
            done.select { |topic, number,| stays.key?([topic, number]) }
          end
        end

        # Gives each reader the committed offset, so that it notices if the first read is elsewhere
        # (an offset reset), and each partition what the commit says of messages from there on. The
        # assignment goes to librdkafka without offsets: it would take given ones for positions, not
        # for committed offsets, and might not commit lower ones later.
        def add(list)
          keys = list.keys
          ids = topic_ids(keys)
          committed = ask_until_known(keys) do |some, seconds|
            @consumer.committed_with_metadata(some, seconds)
          end
          superseded = superseded_among(committed, ids)
          @topic_recreation.record(ids)
          begin_again(superseded, list, committed, ids) if superseded.any?
          @progress&.resume(keys - superseded, committed)
          @topic_recreation.record(committed_ids(committed))
          keys.each { |key| add_partition(partition(key, *committed[key])) }
        end

        def topic_ids(keys)
          return {} unless @topic_recreation.answered?

          ask_until_known(keys.map(&:first).uniq) do |some, seconds|
            @topic_recreation.ids_of(some, seconds)
          end
        end

        # Returns the partitions whose commit is of another topic, which had this name before. Such
        # a commit came after the topic's deletion, which deletes the group's offsets of it. A
        # broker may learn of a new topic later than others: so the topic's id is asked for twice.
        def superseded_among(committed, ids)
          found = of_former_topics(committed, ids)
          return found if found.empty?

          @pause.pop(timeout: RETRY_SECONDS)
          again = topic_ids(found)
          found.each { |topic, _| ids.delete(topic) }
          ids.update(again)
          found & of_former_topics(committed, again)
        end

        def of_former_topics(committed, ids)
          committed.keys.select do |key|
            offset, _, metadata = *committed[key]
            now = @topic_recreation.origin(key.first, ids)
            former = Processing::CommitMetadata.read(metadata, offset)&.origin
            now && former&.superseded_by?(now)
          end
        end

        # Returns the ids of the topics to which the commits belong. One counts until the topic's id
        # is answered, if that hasn't come in time: if the answer is another one, the topic was
        # created again. Until then this member's commits name the former topic, too.
        def committed_ids(committed)
          cluster = @consumer.cluster_id
          found = committed.filter_map do |(topic, _), (offset, _, metadata)|
            origin = Processing::CommitMetadata.read(metadata, offset)&.origin
            [topic, origin.topic_id] if origin && origin.cluster == cluster
          end
          found.uniq.group_by(&:first).filter_map { |_, ids| ids.first if ids.one? }.to_h
        end

        # These partitions are read as if the group had no offset of them, whether or not that can
        # be committed.
        def begin_again(keys, list, committed, ids)
          starts = find_starts(keys, ids)
          report_recreated(keys)
          commit_starts(starts)
          found = starts.to_h { |topic, number, offset| [[topic, number], offset] }
          keys.each do |key|
            committed[key] = found[key]
            list.set_offset(*key, found[key] || @options.settings.reset_offset)
          end
        end

        # Returns entries to commit. ids: of the topics, if others than the known ones count.
        def find_starts(keys, *ids)
          place = @options.settings.reset_place == :end ? :ends : :beginnings
          @consumer.public_send(place, keys, COMMIT_SECONDS).to_h.map do |(topic, number), offset|
            origin = @topic_recreation.origin(topic, *ids)
            [topic, number, offset, nil, Processing::CommitMetadata.write(offset, origin:)]
          end
        end

        def report_recreated(keys)
          @report.event(:kafka_topic_recreated, level: :error, error: RECREATED, hint: RESET,
                                                **listed(:partitions, keys))
        end

        def commit_starts(starts) = report_commit(@consumer.commit(starts, COMMIT_SECONDS))

        # Yields those of which the answer isn't known yet, and for how many seconds to ask. Asks
        # again while there is no answer, and for a short while if there is none for one of them.
        # (Without its metadata all beyond an offset is processed again. librdkafka reads nothing
        # before it has the committed offsets either.)
        def ask_until_known(wanted)
          began = OS.now
          deadline = began + [@lease.limit / 2, COMMITTED_SECONDS].max
          known = {}
          Kernel.loop do
            found = yield(wanted - known.keys, (deadline - OS.now).clamp(0.1, COMMITTED_SECONDS))
            deadline = [deadline, began + COMMITTED_SECONDS].min if found
            known.update(found.to_h)
            return known if known.size == wanted.size || OS.now > deadline
            return known if @node.stopping? || @consumer.lost?

            @pause.pop(timeout: RETRY_SECONDS)
          end
        end

        def add_partition(partition)
          @callbacks&.assigned(partition)
          @scheduler.add(partition)
        end

        # Doesn't wait for the handlers. Returns what may be committed.
        def revoke_at_once(keys)
          leaving = @scheduler.begin_revocation(keys)
          @scheduler.finish_revocation(leaving).tap { @callbacks&.revoked(leaving) }
        end

        # Returns when no handler processes a batch of these partitions any more, or at the
        # deadline. Commits what is done before a long wait, which a kill may end. Warns before
        # another node begins the same messages.
        def await_handlers(leaving, deadline)
          return if released?(leaving, [OS.now + QUICK_SECONDS, deadline].min)

          done = @options.transactional ? [] : @scheduler.committable_offsets(leaving)
          @consumer.commit(done, COMMITTED_SECONDS)
          warn_at = deadline - [WARN_SECONDS, @options.rebalance_wait / 4.0].min
          return if released?(leaving, warn_at)

          @scheduler.processing(leaving).each { |partition| warn_of_overlap(partition, deadline) }
          released?(leaving, deadline)
        end

        # Waits until then for the handlers, but no longer than until the node has to leave.
        def released?(leaving, deadline)
          until @scheduler.processing(leaving).empty?
            seconds = [deadline - OS.now, *@leave_policy.seconds_left].min
            return false unless seconds.positive?

            await_release(seconds)
          end
          true
        end

        def await_release(seconds)
          stop = @leave_policy.io unless @node.stopping?
          committer = @scheduler.offset_committer # of the partitions that stay
          seconds = [seconds, *committer&.seconds_left].min
          IO.select([@scheduler.released.io, committer&.io, stop].compact, nil, nil, seconds)
          @scheduler.released.drain
          committer&.commit_due(@scheduler)
          @lease.renew unless @broker_outage.suspected?
        end

        def warn_of_overlap(partition, deadline)
          topic, number = partition.key
          timeout_in = [deadline - OS.now, 0].max.round(1)
          @report.event(:kafka_revoked_in_flight, level: :warn, error: OVERLAP, hint: REVOKED,
                                                   timeout_in:, topic:, partition: number,
                                                   offset: @scheduler.position(partition))
        end

        OVERLAP = "a handler still processes messages of this revoked partition"
        REVOKED = "After `timeout_in` seconds another node processes the same messages. Check " \
                  "batch.revoked? in the handler, or raise max.poll.interval.ms and rebalance_wait"
        private_constant :OVERLAP, :REVOKED

        # Commits what is done of partitions that are about to be unassigned.
        def commit_before_unassign(done, deadline)
          report_commit(commit_with_retries(deadline) { @consumer.begin_commit(done) })
          @consumer.store_metadata(done) unless @options.transactional
        end

        # Commits, and tries again while there is no coordinator, until the deadline, or as long as
        # a stopping node has. Gives up once the membership is lost. Returns the error code. The
        # block begins each try: it returns a PendingCommit.
        def commit_with_retries(deadline = OS.now + COMMIT_SECONDS)
          Kernel.loop do
            code = yield.wait((deadline - OS.now).clamp(1.0, COMMIT_SECONDS))
            left = [deadline, *stop_at].min - OS.now
            again = Librdkafka::ErrorCode::UNAVAILABLE.include?(code) && !@consumer.lost?
            return code unless again && left.positive?

            @broker_outage.no_answer(code)
            @pause.pop(timeout: [left, RETRY_SECONDS].min)
          end
        end

        def stop_at
          return unless @node.stopping?

          @stop_at ||= OS.now + [COMMIT_SECONDS, (@node.time_left || COMMIT_SECONDS) / 3].min
        end

        # offset, epoch and metadata: of the group's commit, if there is one.
        def partition(key, offset = nil, epoch = nil, metadata = nil)
          options = @options.for(key.first)
          origin = @topic_recreation.origin(key.first)
          reader = @consumer.reader(*key, limit: options.max_messages, fetch_errors: @fetch_errors)
          reader.drop_former(options.max_messages)
          reader.begin_at(offset, epoch)
          committed = Processing::CommitMetadata.read(metadata, offset)
          Processing::AssignedPartition.new(
            reader, id: @last_id += 1, wakeup_pipe: @scheduler.wakeup_pipe, options:, origin:,
                    committed:, progress: @progress&.add(key, options, offset, epoch, committed),
                    seeking: ->(place) { seek(key, place, origin) }
          )
        end

        # Returns the offset at which reading continues.
        def seek(key, place, origin)
          topic, number = key
          offset = @consumer.commit_and_seek(topic, number, place, origin) do |found|
            @progress&.sought(key, found)
          end
          @report.event(:kafka_seek, topic:, partition: number, to: place.to_s, offset:)
          offset
        end

        def report_rebalance(change, keys)
          held = @scheduler.keys
          @progress&.keep(held)
          assigned = change == "assigned" || held.any?
          @metrics.rebalanced(keys, held, assigned:)
          @report.event(:kafka_rebalance, change:, **listed(:partitions, keys),
                                          **listed(:held, held))
          @node.assigned!(assigned, **listed(:partitions, held))
        end

        # Facts of an event. One with too many of them would be refused.
        def listed(name, keys)
          listed = Librdkafka::TopicPartitionList.by_topic(keys.first(LISTED))
          return { name => listed } if keys.size <= LISTED

          { name => listed, "#{name}_left_out": keys.size - LISTED }
        end
      end
    end
  end
end
