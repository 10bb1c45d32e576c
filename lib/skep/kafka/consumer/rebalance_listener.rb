# frozen_string_literal: true

# Partitions as they come to this node and go: to the scheduler and back, with what is done of them
# committed before they go. For the event loop's thread, and at the end whoever closes the client.
#
#   rebalance_listener = RebalanceListener.new(tools, fetch_errors)
#   rebalance_listener.take(list)            # assigned to us
#   rebalance_listener.give_up(list) { |s| … }   # to be others'; or lost already; the block waits so long
#                                 # for handlers, and is false when there is no more time
#   rebalance_listener.give_up_all(list)     # at the client's end
#   rebalance_listener.drop                  # before we leave for good, with something in hand
#   rebalance_listener.lose                  # librdkafka has given up
#   rebalance_listener.begin_again(topics)   # those were deleted and made again
#   rebalance_listener.commit                # what is done, as soon as a coordinator answers
#   rebalance_listener.commit_settled        # what is done, once the group has settled; the block serves it
#   rebalance_listener.joined?               # has it ever had any?
#   rebalance_listener.away?                 # has it lost what it had, and got nothing since?
module Skep
  module Kafka
    class Consumer
      class RebalanceListener
        WARN_SECONDS = 5.0 # before a partition goes while a handler still processes it
        COMMIT_SECONDS = 5.0
        RETRY_SECONDS = 0.25
        COMMITTED_SECONDS = 2.0
        REMADE = "deleted and made again: read from where auto.offset.reset says"
        private_constant :WARN_SECONDS, :COMMIT_SECONDS, :RETRY_SECONDS, :COMMITTED_SECONDS, :REMADE

        def initialize(tools, fetch_errors) #: (Processing::Tools, FetchErrors) -> void
          @options, @child, @report = tools.options, tools.child, tools.report
          @consumer, @scheduler, @metrics = tools.consumer, tools.scheduler, tools.metrics
          @fetch_errors = fetch_errors
          @serials = 0
          @pause = Threads::Inbox.new # into which nothing ever comes
        end

        def joined? = @joined ? true : false #: () -> bool
        def away? = @away ? true : false #: () -> bool

        # Each partition's queue is turned to the scheduler before the assignment, so that no
        # message goes elsewhere. A partition begins at the group's committed offset, also one that
        # this node had before: another member may have processed messages after that offset without
        # committing them, so messages that this node has already processed are redelivered in their
        # order.
        def take(list) #: (Librdkafka::TopicPartitionList) -> void
          @consumer.fetch_wait&.shorten # a request in flight would keep these waiting
          commit
          add(list.keys)
          @consumer.assign(list)
          @joined = true
          @away = false
          tell("assigned", list.keys)
        end

        # Kafka waits for max.poll.interval.ms until this is through, in each of the protocols.
        def give_up(list, &wait) #: (Librdkafka::TopicPartitionList) ?{ (Float) -> bool } -> void
          @away = lost = @consumer.lost?
          deadline = OS.now + @options.rebalance_wait
          leaving = @scheduler.ask_back(list.keys)
          await_handlers(leaving, deadline, &wait) unless lost
          done = @scheduler.take_back(leaving)
          committed(commit_while_away(done, deadline)) unless lost
          @consumer.unassign(list)
          tell(lost ? "lost" : "revoked", list.keys)
        end

        def give_up_all(list) #: (Librdkafka::TopicPartitionList) -> void
          held = @scheduler.keys
          @scheduler.revoke(held)
          @consumer.unassign(list)
          tell("revoked", held)
        end

        # At once, whatever is in hand: what is done is committed, and no more of it will be.
        def drop #: () -> void
          committed(@consumer.commit(@scheduler.revoke(@scheduler.keys), COMMIT_SECONDS))
        end

        # Nothing more will be committed.
        def lose #: () -> void
          lost = @scheduler.keys
          @scheduler.revoke(lost)
          tell("lost", lost) if lost.any?
        end

        # What was done of those of before counts for nothing: the new ones have no offset yet.
        def begin_again(topics) #: (Array[String]) -> void
          keys = @scheduler.keys.select { |topic, _| topics.include?(topic) }
          return if keys.empty?

          @scheduler.revoke(keys)
          @metrics.begin_again(keys)
          place = @options.settings.reset_place
          keys.each { |key| @scheduler.add(partition(key).tap { |partition|
 partition.seek(place) }) }
          @report.tell(:kafka_topic_remade, level: :error, partitions: Librdkafka::TopicPartitionList.by_topic(keys),
                                            note: REMADE)
        end

        # Commits what is done of the partitions held, before new work is taken: after an outage,
        # and when more partitions come.
        # Was it committed? The group knows this member then.
        def commit #: () -> bool
          done = @scheduler.certain
          done.any? && committed(commit_while_away(done)) && !@consumer.lost?
        end

        # While the group changes nothing can be committed: the block is to serve it for so many
        # seconds, until it has settled. The error code at last.
        def commit_settled #: () { (Float) -> void } -> Integer
          deadline = OS.now + COMMIT_SECONDS
          code = @consumer.commit(@scheduler.certain, COMMIT_SECONDS)
          while Librdkafka::ErrorCode::REBALANCING.include?(code) && (left = deadline - OS.now).positive?
            yield left
            code = @consumer.commit(@scheduler.certain, COMMIT_SECONDS)
          end
          code
        end

        # Tells what kept a commit from being one. Was it one?
        def committed(code) #: (Integer) -> bool
          return code.zero? if [0, Librdkafka::ErrorCode::NO_OFFSET].include?(code)

          @report.problem(Librdkafka::Bindings.err2name(code), Librdkafka::Bindings.err2str(code),
                          name: :kafka_commit_failed, level: :warn)
          false
        end

        #: () -> String
        def inspect = "#<Skep::Kafka::Consumer::RebalanceListener #{@scheduler.inspect}>"

        private

        # Without an answer the first read of a partition can't tell whether its offset was reset.
        # (librdkafka asks for the committed offsets itself: where they are given to it, it doesn't
        # learn that they are committed, and compares the next ones with those of an earlier time
        # here, which may be higher.)
        def add(keys)
          committed = @consumer.committed_epochs(keys, COMMITTED_SECONDS).to_h
          keys.each do |key|
            @scheduler.add(partition(key).tap { |one| one.reader.begin_at(*committed[key]) })
          end
        end

        # Until no handler processes a batch of these partitions any more, or at the deadline; warns
        # before another node begins the same messages.
        def await_handlers(leaving, deadline, &wait)
          warn_at = deadline - [WARN_SECONDS, @options.rebalance_wait / 4.0].min
          return if await_release(leaving, warn_at, &wait)

          @scheduler.processing(leaving).each { |partition| warn_of_overlap(partition, deadline) }
          await_release(leaving, deadline, &wait)
        end

        def await_release(leaving, deadline)
          until @scheduler.processing(leaving).empty?
            left = deadline - OS.now
            return false unless left.positive? && block_given? && yield(left)
          end
          true
        end

        def warn_of_overlap(partition, deadline)
          topic, number = partition.key
          seconds = [deadline - OS.now, 0].max.round(1)
          @report.tell(:kafka_revoked_in_hand, level: :warn, topic:, partition: number,
                                               offset: partition.position, seconds:, note: OVERLAP)
        end

        OVERLAP = "a handler still processes messages of this revoked partition; after `seconds` " \
                  "another node processes the same messages: let handlers look at " \
                  "batch.revoked?, or raise max.poll.interval.ms"
        private_constant :OVERLAP

        # Commits, and tries again while there is no coordinator, as long as this member may commit;
        # at a stop for some seconds. The error code.
        def commit_while_away(done, deadline = OS.now + COMMIT_SECONDS)
          Kernel.loop do
            code = @consumer.commit(done, (deadline - OS.now).clamp(1.0, COMMIT_SECONDS))
            left = [deadline, *stop_at].min - OS.now
            return code unless left.positive? && Librdkafka::ErrorCode::UNAVAILABLE.include?(code) && !@consumer.lost?

            @pause.pop(timeout: [left, RETRY_SECONDS].min)
          end
        end

        def stop_at
          return unless @child.stopping?

          @stop_at ||= OS.now + [COMMIT_SECONDS, (@child.time_left || COMMIT_SECONDS) / 3].min
        end

        def partition(key)
          partition = @consumer.partition(
            *key, id: @serials += 1, wakeup_pipe: @scheduler.wakeup_pipe, order: @options.method(:order),
                  seeking: Seeker.new(@consumer, @report), limit: @options.batch,
                  max_wait: @options.max_wait
          )
          partition.tap { partition.reader.fetch_errors = @fetch_errors }
        end

        def tell(change, keys)
          held = Librdkafka::TopicPartitionList.by_topic(@scheduler.keys)
          changed = Librdkafka::TopicPartitionList.by_topic(keys)
          @metrics.rebalanced(keys, @scheduler.keys)
          @report.tell(:kafka_rebalance, change:, partitions: changed, held:)
          @child.joined!(change == "assigned" || !held.empty?, partitions: held)
        end
      end
    end
  end
end
