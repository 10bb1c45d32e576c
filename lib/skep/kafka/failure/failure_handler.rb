# frozen_string_literal: true

# Decides what happens to a batch that isn't done. A batch whose handler raised is retried after a
# backoff; after max_attempts its messages are tried one by one, and one that still fails goes to
# the dead letter topic, but only if other messages have succeeded meanwhile (OutageEvidence), or it
# has failed for retry_for seconds. A message for which NonRetryable is raised goes there at once,
# one with an error of the cluster never. The source's `on_error` may decide this by the class of
# the error. A message that has crashed its node too often isn't tried again.
#
#   failure_handler.handler_raised(item, error, at: 41)   # at: the message's offset, if it is known
#   failure_handler.unreadable_payloads(item, { 41 => error })   # raised by the deserializer
#   failure_handler.pause_or_seek(item, [:pause, 30, :info])   # seconds, and the log's level
#   failure_handler.poison(item)             # its one message is poison, see PoisonDetector
#   failure_handler.dead_letter(item, error) # without another try
#
# FailureCount (below) counts a batch's failures. RetryBackoff (below) says how long to wait.
module Skep
  module Kafka
    module Failure
      class FailureHandler
        HELD = "the partition isn't read further: max_out_of_order messages beyond it are read"
        FINISH = "Fix what keeps this message from being done, or raise max_out_of_order"
        KEPT = "the message comes from the dead letter topic, which this source reads"
        RETRIED = "It is retried, not written there again. Fix the handler, or choose a " \
                  "dead_letter_topic that this source doesn't read"
        MARKED = "The message had been marked: it isn't retried"
        SOME_MARKED = "The marked messages aren't retried, the rest of the batch is"
        ONE_BY_ONE = "The messages of the batch are retried one by one"
        POISON_HINTS = {
          dead_letter: "It isn't retried; the partition continues",
          pause: "The partition is paused. Fix the handler and reload, or restart with " \
                 "dead_letter_topic or on_poison: :skip",
          skip: "It isn't retried; the partition continues without it"
        }.freeze
        ENDLESS = "There is no dead_letter_topic: it is retried until it succeeds"
        PAUSED = "on_error says so for this error. Fix the cause, then reload or restart"
        private_constant :HELD, :FINISH, :KEPT, :RETRIED, :MARKED, :SOME_MARKED, :ONE_BY_ONE,
                         :ENDLESS, :PAUSED, :POISON_HINTS

        def initialize(node:, completion:, outputs:, poison:, options:, report:, scheduler:,
                       metrics:, dead_letter_queue:)
          @node, @completion, @outputs, @poison = node, completion, outputs, poison
          @options, @report, @dead_letter_queue = options, report, dead_letter_queue
          @scheduler, @metrics = scheduler, metrics
          @backoff = RetryBackoff.new(@options.retry_backoff, max: @options.retry_backoff_max)
        end

        def handler_raised(item, error, at: nil)
          batch = item.batch
          @metrics.count(batch, :failures)
          marked = item.marked
          undo(item)
          # Of a message that is marked nothing is tried again. If it isn't known at which message
          # the handler raised, and it has marked some, it may have been one of those.
          if marked && (at.nil? || at <= marked)
            return failed_after_mark(item, batch, error, at, rest: marked < batch.last_offset)
          end

          item.failed(at)
          @scheduler.failed(item.partition)
          context = { **place(batch, at), attempt: item.failures.number }
          final = retry_or_give_up(item, error, at, batch) == :final
          tell_hooks(error, context, final:) # last: a block of on_error may never return
        end

        # Counts as a failure of the handler at these messages. The batch's other messages are
        # processed before or after them, in their order; those of other keys wait for none.
        def unreadable_payloads(item, errors)
          offset, error = errors.first
          return handler_raised(item, error, at: offset) if item.batch.size == 1

          undo(item)
          item.split_failed_key(offset, wait: false)
          item.isolate { |message| errors.key?(message.offset) }
        end

        # requested: what Batch#pause or Batch#seek asked for.
        def pause_or_seek(item, requested)
          last = item.batch.last_offset
          undo(item)
          case requested
          in [:pause, seconds, level] then pause(item, seconds, level)
          in [:seek, place] then seek(item, place, last)
          end
        end

        # Does with a poison message what `on_poison:` says.
        def poison(item)
          batch = item.batch
          crashes = @poison.crashes(batch)
          error = CrashedNode.new(crashes:, total: @poison.total(batch), ends: @poison.ends(batch))
          item.failed(batch.first_offset) # for the backoff, if it can't be dead-lettered
          reported = item.poison_reported_offset == batch.first_offset
          report_poison(item, error, crashes) unless reported
          case @options.on_poison
          when :dead_letter then dead_letter(item, error, attempts: crashes, crashes:)
          when :pause then item.pause
          when :skip then skip(item)
          end
        end

        # attempts, crashes: for the dead letter's headers.
        def dead_letter(item, error, attempts: item.failures.count, **crashes)
          batch = item.batch
          return keep(item, error, **crashes) if batch.topic == @options.dead_letter_topic

          @node.busy(for: DeadLetterQueue::LONGEST * @options.threads) do
            @dead_letter_queue.put(batch.messages.first, error, to: @options.dead_letter_topic,
                                                                attempts:, **crashes,
                                                                through: @outputs)
          end
          @completion.batch_done(item) or return

          @metrics.count(batch, :dead_letters)
          @report.failed(:dead_lettered, batch, error, attempt: attempts, **crashes,
                                                       to: @options.dead_letter_topic)
        rescue OutputFailed => e # the message stays in its partition, and is tried again
          @outputs.abort_batch
          try_again(item, e)
        end

        private

        # Returns :final if the message isn't tried again. batch: as the handler was given it, with
        # what it has marked.
        def retry_or_give_up(item, error, at, batch)
          failures = item.failures # before split_failed_key, which may begin a new FailureCount
          known = !at.nil? || item.batch.size == 1
          item.split_failed_key(at, wait: batch.first_offset == at)
          return try_again(item, error, failures) unless tried_enough?(item, error, known:)

          alone = known && item.batch.size == 1
          give_up(item, error, failures, known:)
          :final if alone
        end

        # The partition moves on without the message.
        def skip(item)
          batch = item.batch
          @completion.batch_done(item) and @metrics.count(batch, :skipped)
        rescue OutputFailed => e
          @outputs.abort_batch
          try_again(item, e)
        end

        # The message came from the dead letter topic, and would be read from there again.
        def keep(item, error, crashes: nil)
          place = item.batch.place.except(:last_offset)
          @report.problem("DEAD_LETTER", KEPT, name: :not_dead_lettered, level: :warn,
                                               hint: RETRIED, **place)
          crashes ? item.pause : try_again(item, error)
        end

        def report_poison(item, error, crashes)
          batch = item.batch
          item.poison_reported_offset = batch.first_offset
          @poison.report_poison(batch)
          @report.failed(:message_quarantined, batch, error,
                         crashes:, verdict: @options.on_poison,
                         hint: POISON_HINTS.fetch(@options.on_poison))
        end

        # offset: of the message that failed, if it is known.
        def place(batch, offset) = offset ? { **batch.place, offset: } : batch.place

        # Marked messages are done; output messages since the mark are discarded.
        def undo(item)
          @outputs.abort_batch
          @completion.keep_rest(item)
          item.batch&.__reset_strings
        end

        # The messages behind the mark haven't failed: nothing is counted for them, and the error is
        # of none of them. rest: true if there are some. They continue at once, unless one of them
        # may have failed.
        def failed_after_mark(item, batch, error, offset, rest:)
          place = place(batch, offset)
          final = !offset.nil? || !rest
          if final
            report_failure(batch, error, nil, **place, hint: MARKED)
          else
            seconds = @backoff.seconds(1)
            item.back_off(seconds)
            report_failure(batch, error, seconds.round(3), hint: SOME_MARKED)
          end
          tell_hooks(error, { **place, attempt: 0 }, final:)
        end

        # Returns true if the batch isn't tried as a whole again, but split, dead-lettered or
        # paused. An error that only the cluster causes is retried forever.
        def tried_enough?(item, error, known:)
          return false if error.is_a?(OutputFailed) && error.passing?
          return false if DatabasePool.exhausted?(error)

          case verdict(error)
          when :retry then return false
          when :dead_letter, :pause then return true
          end
          return false unless @options.max_attempts
          return true if error.is_a?(NonRetryable)

          several = item.batch.size > 1
          # The last try of a message that is known is alone.
          tries = several && known ? item.failures.number + 1 : item.failures.count
          tries >= @options.max_attempts && (several || spent?(item))
        end

        # Returns what `on_error` says of the error's class, or of the nearest of its ancestors.
        def verdict(error)
          policy = @options.on_error
          policy[error.singleton_class.ancestors.find { |ancestor| policy.key?(ancestor) }]
        end

        # Returns true if the message is bad: others succeeded meanwhile, or it failed for
        # `retry_for:` seconds.
        def spent?(item)
          failures = item.failures
          failures.own_failures >= [@options.max_attempts - 1, 1].max ||
            @options.waited?(OS.now - failures.since, item.partition)
        end

        def seek(item, place, last)
          offset = @scheduler.seek(item, place, last) or return
          topic, partition = item.partition.key
          @report.event(:kafka_seek_waiting, topic:, partition:, to: place.to_s, offset:)
        end

        def pause(item, seconds, level)
          item.back_off(seconds)
          topic, partition = item.partition.key
          @report.event(:kafka_paused, topic:, partition:, retry_in: seconds, level:,
                                      offset: item.batch&.first_offset)
        end

        # failures: of the batch before it was split.
        def try_again(item, error, failures = item.failures)
          seconds = back_off(item, failures)
          hint = ENDLESS if failures.number == 1 && @options.dead_letter_topic.nil?
          hint = DatabasePool.hint(@options.threads) if DatabasePool.exhausted?(error)
          report_failure(item.batch, error, seconds.round(3), attempt: failures.number,
                                                              **(hint ? { hint: } : {}))
          report_held(item.partition) if item.partition.held?
        end

        # Backs off, and returns the seconds that this takes at most. After an outage, the first
        # failure that can't be the outage's any more counts as the second one.
        def back_off(item, failures)
          now = OS.now
          lasted = now - failures.outage_since
          if failures.own_failures.positive?
            seconds = @backoff.seconds([failures.number, failures.own_failures + 1].min)
          elsif lasted < RetryBackoff::OUTAGE_LIMIT
            seconds = @backoff.seconds(failures.number, limit: RetryBackoff::OUTAGE_LIMIT)
          else
            return await_success(item, failures, now, lasted)
          end
          item.back_off(seconds)
          seconds
        end

        # Nothing of the partition has succeeded for a while: one of its work items at a time tries
        # whether that has changed, and the others wait for it. However long the maximum of the
        # backoff, it tries each 30 s.
        def await_success(item, failures, now, lasted)
          limit = @scheduler.probe(item.partition) ? RetryBackoff::LIMIT : RetryBackoff::OUTAGE_LIMIT
          seconds = @backoff.seconds(failures.number, limit:, least: lasted)
          item.back_off(seconds, awaiting: now)
          seconds
        end

        # Of several messages it isn't known which one fails: they are tried one by one first, even
        # if by key only one of them is left in this item.
        def give_up(item, error, failures, known:)
          if item.batch.size == 1 && known
            return pause_for_good(item, error, failures) if verdict(error) == :pause

            return dead_letter(item, error)
          end

          report_failure(item.batch, error, 0, attempt: failures.number,
                                               hint: ONE_BY_ONE)
          item.split(known:)
        end

        # The message, and what waits for it, isn't tried again before the node ends.
        def pause_for_good(item, error, failures)
          report_failure(item.batch, error, nil, attempt: failures.number, hint: PAUSED)
          item.pause
        end

        def report_failure(batch, error, retry_in, **facts)
          @metrics.count(batch, :retries)
          # Without retry_in this is the last that is said of the batch.
          return @report.failed(:handler_failed, batch, error, **facts) unless retry_in

          @report.retried(batch, error, retry_in:, **facts)
        end

        # Calls the blocks of Swarm#on_error: at the first failure of a kind, then once in ten
        # seconds with the number of those in between. final: the message isn't tried again.
        def tell_hooks(error, context, final: false)
          told = @report.tell(:hooks, context[:topic], error) || ({} if final)
          return unless told

          @node.__failed(error, **context, **told.slice(:repeated))
        end

        def report_held(partition)
          @report.problem("HELD", HELD, name: :kafka_backpressure, level: :warn, hint: FINISH,
                                        topic: partition.topic,
                                        partition: partition.number, offset: partition.position)
        end
      end

      # Counts the failures of a batch, and of the message in it that failed.
      #
      #   failures = FailureCount.new
      #   failures.begin_try(partition.last_success)
      #   failures.add(41, OS.now)   # the handler raised at offset 41; nil: it isn't known where
      #   failures.count             # => 1, failures of the batch
      #   failures.number            # => 1, failures in a row of that message
      #   failures.own_failures      # => 0, failures after other messages had succeeded
      #   failures.since             # => when it failed first, in monotonic seconds
      #   failures.outage_since      # => since when no other message has succeeded, if that counts
      #
      # A batch of many messages may fail at another message each time: `count` decides when its
      # messages are tried one by one. Events report `number`, and the backoff depends on it.
      #
      # Other messages show whether the message is bad, or a dependency of its handler is
      # unavailable. If one of them was tried, and succeeded, after the first failure and before a
      # try, that try counts against the message (`own_failures`). If it was of another partition,
      # later tries count only as long as OutageEvidence says so.
      #
      # Parts of a batch inherit `outage_since`, even those that have not failed themselves: how
      # long a dependency is unavailable doesn't depend on how a batch is split.
      class FailureCount
        attr_reader :count # of the batch
        attr_reader :number # in a row of the message that failed last
        attr_reader :own_failures # failures after other messages had succeeded
        attr_reader :offset # of the message that failed last; nil: it isn't known
        attr_reader :since # monotonic seconds
        attr_reader :outage_since # monotonic seconds

        # since: when the batch failed first of which this one is a part. count, own_failures,
        # offset: what another process has counted. same_partition: a success of the partition
        # itself has shown that there is no outage.
        def initialize(since: nil, outage_since: nil, count: 0, own_failures: 0, offset: nil,
                       same_partition: own_failures.positive?)
          @same_partition = same_partition
          @count = @number = count
          @own_failures = own_failures
          @since = since
          @outage_since = outage_since
          @offset = offset
        end

        # Continues the count of another process for the message at that offset. plain: what `dump`
        # has returned there.
        def self.restore(offset, plain, now)
          count, own_failures, seconds = plain.map { |number| Integer(number) }
          new(since: now - seconds, count:, own_failures:, offset:)
        end

        # Returns what counts for a batch of one message: its failures, its own ones, and since how
        # many seconds.
        def dump(now) = [count, own_failures, (now - since).round]

        # A count of its own for the message that failed last.
        def of_message
          FailureCount.new(since:, outage_since:, count: number, offset:,
                           own_failures: [own_failures, number].min,
                           same_partition: @same_partition)
        end

        # A try begins. success: when the last successful try of the partition began; nil: none was.
        # elsewhere: the same of all partitions of this process, unless that counts no more.
        def begin_try(success, elsewhere = nil)
          @same_partition ||= since && success ? success > since : false
          last = [success, elsewhere].compact.max
          @others = @same_partition || (since && last ? last > since : false)
          @outage_since = nil if outage_since && last && last > outage_since
        end

        def add(offset, now)
          @since ||= now
          @outage_since ||= now
          @count += 1
          @own_failures += 1 if @others
          @number = offset == @offset ? @number + 1 : 1
          @offset = offset
        end

        def inspect
          "#<Skep::Kafka::Failure::FailureCount count=#{count} own_failures=#{own_failures}>"
        end
      end

      # Says how long to wait before a failed batch is retried: twice as long each time, up to a
      # limit. Jitter keeps nodes from retrying at the same time.
      #
      #   RetryBackoff.new(0.1).seconds(1)    # => 0.1 s ±20%, after the first failure
      #   RetryBackoff.new(0.1).seconds(20)   # => 30 s at most, or `max`
      #   RetryBackoff.new(0.1).seconds(20, limit: 1.5)   # => 1.5 s at most, or the first backoff
      #
      # FailureHandler chooses the limit; Processing::BackoffQueue (work_item.rb) holds what waits.
      class RetryBackoff
        LIMIT = 30.0
        # Maximum seconds between two tries of a partition of which nothing succeeds, so that the
        # end of an outage is noticed soon.
        OUTAGE_LIMIT = 1.5
        SPREAD = 0.2
        private_constant :SPREAD

        def initialize(base, max: LIMIT, random: Random)
          @base, @max = base, max
          @random = random
        end

        # The seconds after so many failures of the same message. limit: the maximum, unless the
        # first backoff is longer; least: the minimum, up to the limit.
        def seconds(failures, limit: @max, least: 0)
          spread = 1 + @random.rand(-SPREAD..SPREAD)
          plain = [@base * (2.0**[failures - 1, 60].min), least].max
          [plain * spread, [limit, @base * spread].max, @max].min
        end
      end
    end
  end
end
