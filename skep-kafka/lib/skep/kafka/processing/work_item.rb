# frozen_string_literal: true

# Messages of a partition that must be processed in order, by one worker at a time. A partition has
# one work item at a time; with `ordered_by: :key` it has many, and no key is in two of them.
#
# | state | what it is | what ends it |
# |---|---|---|
# | in flight | a worker tries its messages, slice by slice | `Scheduler#release` |
# | ready | in the scheduler's queue, for another try | a worker takes it |
# | in backoff | until `retry_at`, or until other messages succeed (`awaiting`) | `become_ready` |
# | held | in backoff for ever: `on_error` says :pause | the node's end, or a seek |
# | done | it has no slice left | |
#
# A seek forgets it in each of these, unless it waits for it (AssignedPartition#keeps?). While it is
# in flight:
#
#   item.slice                # the messages to try now; nil when the item is done
#   item.next_slice           # the slice is done
#   item.mark(41)             # the slice's messages up to that offset are done
#   item.drop_marked          # continues with the messages after the mark
#   item.settle(attempt, decision)   # the try has failed
#   item.back_off(0.2)        # it is retried after so many seconds; other items continue
#   item.back_off(9, awaits_success: true)   # or when others succeed that begin from here on
#
# It holds what is to be tried and how often that failed, and decides nothing. BackoffQueue has
# the items that wait.
module Skep
  module Kafka
    module Processing
      class WorkItem
        attr_reader :partition
        attr_reader :keys # by offset, if the partition is ordered by key
        attr_reader :order # the partition's, when it was taken
        attr_reader :end_offset # the next offset that may have a message, after its own
        attr_reader :marked # the offset up to which the slice is done
        attr_reader :retry_at # monotonic seconds
        attr_reader :awaiting # it is retried, too, when others succeed that begin after that time
        attr_accessor :poison_reported_offset # of the last message that was reported

        # since: when a slice failed first of which these are parts; outage_since: see
        # Failure::FailureCount. failures_by_offset: of messages that have been tried
        # before, in another process or in a larger slice.
        def initialize(partition, slices, keys = nil, order: nil, end_offset: nil, since: nil,
                       outage_since: nil, failures_by_offset: {})
          @partition = partition
          @order, @end_offset = order, end_offset
          @slices = slices
          @keys = keys
          @since, @outage_since = since, outage_since
          @failures_by_offset = failures_by_offset
          @split_off = []
        end

        def become_ready = @retry_at = nil # its backoff is over
        def slice = @slices.first
        def done? = @slices.empty?
        def held? = retry_at == Float::INFINITY # see `hold`

        # What waits for the message at that offset: its partition, or those of its key.
        def unit(offset = nil)
          keys ? [*partition.key, keys[offset || slice.first_offset]] : partition.key
        end

        # A block that returns the units of the slice's messages after one offset and up to another
        # one, also once they are done.
        def units(after: nil, to: slice.last_offset)
          slice, keys, key = self.slice, self.keys, partition.key
          return -> { [key] } unless keys

          lambda do
            some = slice.messages[(after ? slice.count_to(after) : 0)...slice.count_to(to)]
            some.map { |message| [*key, keys[message.offset]] }.uniq
          end
        end

        # Do messages wait behind the slice's first one?
        def more? = slice.size > 1 || @slices.size > 1

        # The offsets of all its messages.
        def offsets = @slices.flat_map { |slice| slice.messages.map(&:offset) }

        # The partition is done up to that offset once the slice is, or once the item is that has no
        # messages.
        def last_offset
          @end_offset && @slices.size < 2 ? @end_offset - 1 : slice.last_offset
        end

        def mark(offset) = @marked = offset
        def marked?(offset) = !@marked.nil? && offset <= @marked

        def next_slice
          @slices.shift
          forget_failures
          @marked = nil
          release_finished_keys if keys && !done?
        end

        # The failures of the slice.
        def failures
          @failures ||= earlier_failures ||
                        Failure::FailureCount.new(since: @since, outage_since: @outage_since)
        end

        # A try begins. success: when the partition's last try that succeeded began. The block
        # returns the same of all partitions, if that counts.
        def begin_try(success)
          return unless @failures || @since || @outage_since || earlier_failures

          failures.begin_try(success, (yield if block_given?))
        end

        # The handler raised at that offset, if that is known.
        def failed(offset, now = OS.now)
          failures.add(slice.size == 1 ? slice.first_offset : offset, now)
        end

        # Adds to the attempt what is known of its failure. offset: of the message at which it was,
        # if that is known. others: see Attempt.
        def record(attempt, error, offset, **others)
          rest = @marked ? slice.after(@marked) : slice
          apart = rest ? keys_apart(rest, offset) : []
          size = rest.nil? || apart.empty? ? rest&.size.to_i : count_without(rest, apart)
          attempt.failed(error, offset, marked: @marked, size:, halved: offset.nil? && apart.any?,
                                        **others)
        end

        # Returns true if it is a slice of one message that has failed.
        def failed_alone? = slice&.size == 1 && @failures&.count.to_i.positive?

        # Marked messages aren't tried again. Returns their number.
        def drop_marked
          return 0 unless @marked

          before, rest = slice.size, slice.after(@marked)
          @slices.insert(1, rest) if rest
          next_slice
          before - (rest&.size || 0)
        end

        # Does with the messages what RetryPolicy has decided: from here on they are tried again, at
        # once or after a backoff, or not at all; a dead letter or a skipped message isn't done yet.
        # Returns the slice that has failed, without the keys that needn't wait for it.
        def settle(attempt, decision)
          keep = decision.action == :continue || attempt.crashes
          apart = split_failed_key(attempt.offset) unless keep
          failed = slice
          case decision.action
          when :continue, :retry, :replace_process
            beside = apart if attempt.offset.nil? || attempt.failed_first?
            back_off(decision.seconds, awaits_success: decision.awaits_success, beside:)
          when :one_by_one then split(known: !attempt.offset.nil?)
          when :isolate then isolate { |message| attempt.unreadable.include?(message.offset) }
          when :hold then hold
          end
          failed
        end

        # The slice's messages are tried one by one. known: the message that has failed keeps its
        # failures.
        def split(known: false) = replace_slice(slice.split, known:)

        # Messages for which the block is true get slices of their own. The message that has
        # failed keeps its failures, and no other inherits them. Returns false if nothing is split.
        def isolate(&)
          parts = slice.isolate(&)
          return false if parts.size < 2

          replace_slice(parts, known: true)
          true
        end

        # Splits off keys that don't have to wait for the one that failed: all but that offset's, or
        # half of them if it isn't known which one failed. Of two halves neither has a failure
        # counted. Returns the item with those keys; nil if there are none, or if they are of later
        # slices, of which none has been tried.
        def split_failed_key(offset)
          if keys && !@slices.one? && slice.size == 1
            split_off_others
            return
          end

          others = keys_apart(slice, offset)
          return if others.empty?

          restart_count unless offset
          split_off(others)
        end

        # awaits_success: one that begins from here on ends the backoff early. beside: an item that
        # was split off, and backs off, too; it is tried at once if the handler got further than the
        # first message. Without seconds, nothing waits.
        def back_off(seconds, awaits_success: false, beside: nil)
          return unless seconds

          now = OS.now
          [self, *beside].each { |item| item.wait_until(now + seconds, (now if awaits_success)) }
        end

        def wait_until(time, awaiting = @awaiting)
          @retry_at, @awaiting = time, awaiting
        end

        # It lets other items go first, once. Returns false the second time.
        def let_others_go_first(seconds)
          return false if @let_others_go

          back_off(seconds)
          @let_others_go = true
        end

        # The item, and those that were split off since the last call.
        def parts = [self, *@split_off.slice!(0..)]

        # Replaces each message by what the block returns for it.
        def copy_messages(&)
          @slices.map! { |slice| slice.with(slice.messages.map(&)) }
        end

        # It isn't tried any more before the node ends. Keys other than that of its slice of one
        # message are.
        def hold
          split_off(keys.values.uniq - [keys[slice.first_offset]]) if keys
          wait_until(Float::INFINITY, nil)
        end

        # None of its messages is tried any more.
        def drop
          @slices.clear
          @end_offset = nil
        end

        def inspect
          "#<Skep::Kafka::Processing::WorkItem #{slice&.label || partition} " \
            "failures=#{@failures&.count.to_i}>"
        end

        private

        def earlier_failures
          @failures_by_offset[slice.first_offset] if @failures_by_offset.any? && slice.size == 1
        end

        def replace_slice(parts, known:)
          kept = { failures.offset => failures.of_message } if known && failures.offset
          @slices[0, 1] = parts
          restart_count
          @failures_by_offset = @failures_by_offset.merge(kept) if kept
        end

        # It isn't known which part of the slice failed: each begins without failures, but keeps the
        # time of the first one.
        def restart_count
          @since = failures.since
          forget_failures
        end

        def forget_failures
          @outage_since = outage_since
          @failures = nil
        end

        # Since when nothing of the partition has succeeded, if that is so (Failure::FailureCount).
        def outage_since = @failures ? @failures.outage_since : @outage_since

        # Messages of keys that are done here needn't wait for the other keys.
        def release_finished_keys
          left = @slices.flat_map { |slice| slice.messages.map { |one| keys[one.offset] } }
          done = keys.values.uniq - left
          split_off(done) if done.any?
        end

        # Makes an item of those keys, with their share of each slice and no failures counted.
        def split_off(some)
          some = some.to_h { |key| [key, true] }
          theirs, @keys = keys.partition { |_, key| some.key?(key) }.map(&:to_h)
          slices = @slices.filter_map { |slice| slice.part { |one| theirs.key?(one.offset) } }
          @slices = @slices.filter_map { |slice| slice.part { |one| @keys.key?(one.offset) } }
          WorkItem.new(partition, slices, theirs, order:, since: @since, outage_since:,
                                                   failures_by_offset: @failures_by_offset)
                  .tap { |item| @split_off << item }
        end

        # Those of the slices behind its slice of one message.
        def split_off_others
          others = keys.values.uniq - [keys[slice.first_offset]]
          split_off(others) if others.any?
        end

        # The keys of the slice that needn't wait for the one that failed.
        def keys_apart(slice, offset)
          return [] unless keys && @slices.one?

          all = slice.messages.map { |message| keys[message.offset] }.uniq
          offset ? all - [keys[offset]] : all.drop((all.size + 1) / 2)
        end

        def count_without(slice, some)
          slice.messages.count { |message| !some.include?(keys[message.offset]) }
        end
      end
    end
  end
end
