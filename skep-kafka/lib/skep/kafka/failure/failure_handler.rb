# frozen_string_literal: true

# Carries out what RetryPolicy decides of a batch that isn't done: discards its outputs, counts its
# failure, and has it retried, split, dead-lettered or held. Reports each failure.
#
#   failure_handler.handler_raised(item, attempt, error)   # the handler, or a filter
#   failure_handler.handler_raised(item, attempt, error, at: 41, unreadable: [41, 43])   # a
#                                                                            # deserializer
#   failure_handler.pause_or_seek(item, [:pause, 30, :info])   # seconds, and the log's level
#   failure_handler.poison(item, attempt)   # its message is poison, see PoisonDetector: not tried
module Skep
  module Kafka
    module Failure
      class FailureHandler
        NOT_READ = "the partition isn't read further: max_out_of_order messages beyond it are read"
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
        UNPROVEN = "Too few other messages have succeeded since its first failure: it may be an " \
                   "outage. It becomes a dead letter once others succeed, or, if it fails " \
                   "alone, after retry_for"
        LONG_PAUSE = 5.0 # seconds; the status shows it
        PAUSED = "on_error says so for this error. Fix the cause, then reload or restart"
        private_constant :NOT_READ, :FINISH, :KEPT, :RETRIED, :MARKED, :SOME_MARKED, :ONE_BY_ONE,
                         :ENDLESS, :UNPROVEN, :LONG_PAUSE, :PAUSED, :POISON_HINTS

        # evidence, present: TopicEvidence and PresentFailures by the options of a topic.
        def initialize(node:, completion:, outputs:, poison:, options:, report:, scheduler:,
                       metrics:, dead_letter_queue:, evidence:, present:)
          @evidence, @present = evidence.fetch(options), present.fetch(options)
          @node, @completion, @outputs, @poison = node, completion, outputs, poison
          @options, @report, @dead_letter_queue = options, report, dead_letter_queue
          @scheduler, @metrics = scheduler, metrics
        end

        # unreadable: the offsets of messages for which the deserializer raised. The messages remain
        # in flight until that is settled: if skep itself raises, which ends the node, the one that
        # failed is suspected.
        def handler_raised(item, attempt, error, at: attempt.failed_at(error), unreadable: [])
          item.record(attempt, error, at, unreadable:)
          tried = item.slice
          @metrics.count(tried, :failures) unless attempt.unreadable_of_several?
          undo(item)
          history = count_failure(item, at) if attempt.counted?
          decision = settle(item, attempt, history, tried)
          @node.in_flight(nil)
          return if decision.action == :isolate # nothing has failed yet

          context = { **place(tried, at), attempt: history&.number || 0 }
          tell_hooks(error, context, final: decision.final?) # last: a block may never return
        end

        # requested: what Batch#pause or Batch#seek asked for.
        def pause_or_seek(item, requested)
          last = item.slice.last_offset
          undo(item)
          case requested
          in [:pause, seconds, level] then pause(item, seconds, level)
          in [:seek, place]
            @present.forget(item.partition)
            seek(item, place, last)
          end
        end

        # Does with a poison message what `on_poison:` says.
        def poison(item, attempt)
          slice = item.slice
          crashes = @poison.crashes(slice)
          error = CrashedNode.new(crashes:, total: @poison.total(slice), ends: @poison.ends(slice))
          item.failed(slice.first_offset) # for the backoff, if it can't be dead-lettered
          reported = item.poison_reported_offset == slice.first_offset
          report_poison(item, error, crashes) unless reported
          item.record(attempt, error, slice.first_offset, crashes:)
          settle(item, attempt, item.failures, slice)
        end

        private

        def count_failure(item, offset)
          now = OS.now
          known = !offset.nil? || item.slice.size == 1
          @evidence.failed(id(item, offset), item.unit(offset), now,
                           known:, again: !item.failures.since.nil?)
          item.failed(offset, now)
          @scheduler.failed(item.partition)
          item.failures # before split_failed_key, which may begin a new FailureCount
        end

        # offset: of the message that failed, if it is known.
        def id(item, offset)
          TopicEvidence.id(*item.partition.key, offset || item.slice.first_offset)
        end

        # Decides, has the work item settled, then does and reports the rest. history: a
        # FailureCount. tried: the slice before what is marked was dropped. Returns the decision.
        def settle(item, attempt, history, tried)
          id = id(item, attempt.offset) if item.slice
          evidence = evidence(item, history, id)
          decision = RetryPolicy.decide(attempt, history, evidence, @options, OS.now,
                                        spread: RetryBackoff.spread)
          if id && history
            show(item, attempt, history, evidence, decision)
            apply_cause(id, history, evidence, decision)
          end
          slice = item.settle(attempt, decision)
          report_kept(slice) if decision.why == :dead_letter_topic
          @options.waited(item.partition) if decision.why == :retry_for
          case decision.action
          when :continue then report_marked(tried, attempt, decision.seconds)
          when :retry
            report_retry(item, slice, attempt.error, history, decision.seconds,
                         (UNPROVEN if decision.why == :unproven))
          when :replace_process
            report_retry(item, slice, attempt.error, history, decision.seconds)
            replace_process(history, attempt.error, decision.why)
          when :one_by_one then report_attempt(slice, attempt, history, 0, ONE_BY_ONE)
          when :hold
            @evidence.condemned(id)
            report_attempt(slice, attempt, history, nil, PAUSED)
          when :dead_letter then dead_letter(item, attempt, own: decision.why == :class)
          when :skip then skip(item)
          end
          decision
        end

        # id: of the message that failed.
        def evidence(item, history, id = nil)
          others_wait = @scheduler.awaiting_success?(item.partition)
          # What is behind a mark hasn't failed.
          return Evidence.new(others_wait:) unless history&.since && id

          @evidence.about(id, history, OS.now, began: @completion.began || OS.now, others_wait:,
                                               behind: @scheduler.behind?(item))
        end

        # Keeps for the status what has failed, and its cause.
        def show(item, attempt, history, evidence, decision)
          given_up = decision.final? && decision.why != :retry_for
          cause = given_up ? :message : decision.cause
          cause = :dependency if cause == :part_of_dependency && all_fail?(evidence)
          @metrics.verdict(item.slice, cause || :unknown)
          retry_at = decision.seconds && (OS.now + decision.seconds)
          @present.failed(item, attempt, history, evidence, cause,
                          retry_at:, held: decision.action == :hold,
                          dead_letter_topic: @options.dead_letter_topic)
        end

        # For FailureCause a part suffices; users want to know whether it is all.
        def all_fail?(evidence)
          evidence.elsewhere.first.zero? && FailureCause.several?(evidence)
        end

        # A failure with another cause doesn't count against the message. What fails in an outage
        # has its first failure after it.
        def apply_cause(id, history, evidence, decision)
          return if decision.final?

          history.discount if FailureCause::OTHER.include?(decision.cause)
          return unless decision.cause == :dependency && evidence.swarm.first.zero?

          history.begin_anew(OS.now)
          @evidence.forget(id)
        end

        # cause: :process, it is ill; :another_process, that one must show what the cause is.
        def replace_process(history, error, cause)
          return unless @evidence.ask_for_successor(OS.now)

          history.clear(OS.now) if cause == :process
          @node.__replace_process(cause == :process ? "unfit" : "another_process",
                                  event: "kafka_process_unfit", topics: @options.topics.join(","),
                                  error: @report.clean(Metrics::EventReporter.describe(error)))
        end

        # own: its failure says nothing about other messages.
        def dead_letter(item, attempt, own:)
          slice = item.slice
          crashes = { crashes: attempt.crashes }.compact # for the dead letter's headers
          attempts = attempt.crashes || item.failures.count
          @node.busy(for: DeadLetterQueue::LONGEST * @options.threads) do
            @dead_letter_queue.put(slice.messages.first, attempt.error,
                                   to: @options.dead_letter_topic, attempts:, **crashes,
                                   through: @outputs)
          end
          done(item, :dead_letters, own:) or return

          @report.failed(:dead_lettered, slice, attempt.error, attempt: attempts, **crashes,
                                                               to: @options.dead_letter_topic)
        rescue OutputFailed => e
          stays(item, e)
        end

        # The partition moves on without the message.
        def skip(item)
          done(item, :skipped)
        rescue OutputFailed => e
          stays(item, e)
        end

        # Until then what is known of the message stays: it is condemned again at its next failure.
        def done(item, counter, own: false)
          slice, unit = item.slice, item.unit
          @completion.batch_done(item) or return

          @evidence.condemned(TopicEvidence.id(*item.partition.key, slice.first_offset), own:)
          @present.gave_up(item.partition, unit)
          @metrics.count(slice, counter)
          true
        end

        # The message stays in its partition, and is tried again.
        def stays(item, error)
          @outputs.abort_batch
          decision = RetryPolicy.try_again(item.failures, evidence(item, nil), @options, OS.now,
                                           spread: RetryBackoff.spread)
          item.back_off(decision.seconds, awaits_success: decision.awaits_success)
          @present.undelivered(item.partition, item.unit, error, OS.now + decision.seconds)
          report_retry(item, item.slice, error, item.failures, decision.seconds)
        end

        # The message came from the dead letter topic, and would be read from there again.
        def report_kept(slice)
          @report.problem("DEAD_LETTER", KEPT, name: :not_dead_lettered, level: :warn,
                                               hint: RETRIED, **slice.place.except(:last_offset))
        end

        def report_poison(item, error, crashes)
          slice = item.slice
          item.poison_reported_offset = slice.first_offset
          @poison.report_poison(slice)
          @report.failed(:message_quarantined, slice, error,
                         crashes:, verdict: @options.on_poison,
                         hint: POISON_HINTS.fetch(@options.on_poison))
        end

        # offset: of the message that failed, if it is known.
        def place(slice, offset) = offset ? { **slice.place, offset: } : slice.place

        # Marked messages are done; output messages since the mark are discarded.
        def undo(item)
          @outputs.abort_batch
          @completion.keep_rest(item)
          item.slice&.reset_strings
        end

        def seek(item, place, last)
          offset = @scheduler.seek(item, place, last) or return
          topic, partition = item.partition.key
          @report.event(:kafka_seek_waiting, topic:, partition:, to: place.to_s, offset:)
        end

        # (A pause at level debug is one of skep's own, as of a delayed job.)
        def pause(item, seconds, level)
          item.back_off(seconds)
          unless level == :debug || seconds < LONG_PAUSE
            @present.paused(item.partition, OS.now + seconds)
          end
          topic, partition = item.partition.key
          @report.event(:kafka_paused, topic:, partition:, retry_in: seconds, level:,
                                      offset: item.slice&.first_offset)
        end

        # The messages behind the mark haven't failed: nothing is counted for them, and the error is
        # of none of them. seconds: if they back off.
        def report_marked(tried, attempt, seconds)
          report_failure(tried, attempt.error, seconds&.round(3), **place(tried, attempt.offset),
                                                        hint: seconds ? SOME_MARKED : MARKED)
        end

        def report_retry(item, slice, error, history, seconds, hint = nil)
          hint = ENDLESS if history.number == 1 && @options.dead_letter_topic.nil?
          hint = DatabasePool.hint(@options.threads) if DatabasePool.exhausted?(error)
          report_failure(slice, error, seconds.round(3), attempt: history.number,
                                                         **(hint ? { hint: } : {}))
          report_backpressure(item.partition) if @scheduler.blocked?(item.partition)
        end

        # (A poison message was reported before.)
        def report_attempt(slice, attempt, history, retry_in, hint)
          return if attempt.crashes

          report_failure(slice, attempt.error, retry_in, attempt: history.number, hint:)
        end

        def report_failure(slice, error, retry_in, **facts)
          @metrics.count(slice, :retries)
          # Without retry_in this is the last that is said of the slice.
          return @report.failed(:handler_failed, slice, error, **facts) unless retry_in

          @report.retried(slice, error, retry_in:, **facts)
        end

        # Calls the blocks of Swarm#on_error: at the first failure of a kind, then once in ten
        # seconds with the number of those in between. final: the message isn't tried again.
        def tell_hooks(error, context, final: false)
          told = @report.tell(:hooks, context[:topic], error) || ({} if final)
          return unless told

          @node.__failed(error, **context, **told.slice(:repeated))
        end

        def report_backpressure(partition)
          @report.problem("HELD", NOT_READ, name: :kafka_backpressure, level: :warn, hint: FINISH,
                                        topic: partition.topic,
                                        partition: partition.number,
                                        offset: @scheduler.position(partition))
        end
      end
    end
  end
end
