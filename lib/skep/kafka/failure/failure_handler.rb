# frozen_string_literal: true

# What becomes of a batch that isn't done: one whose handler raised rests and is tried again; after
# many attempts its messages are tried one by one, and the one that can't be done is set aside. One
# of which the handler said "not now", or "from there", does so.
#
#   failure_handler.met(item, error, at: 41)     # at: the offset that was given out, where that is known
#   failure_handler.wished(item, [:pause, 30, :info])
#   failure_handler.bury(item, error)            # at once, into the dead letter topic
module Skep
  module Kafka
    module Failure
      class FailureHandler
        HELD = "what is unfinished keeps the rest from being read: it is `ahead:` messages behind"
        OUTAGE_LIMIT = RetryBackoff::OUTAGE_LIMIT
        private_constant :HELD, :OUTAGE_LIMIT

        #: (Processing::Tools, Child, Processing::Completion, Producer::HandlerProducer) -> void
        def initialize(tools, child, completion, outputs)
          @child, @completion, @outputs, @scheduler = child, completion, outputs, tools.scheduler
          @options, @report, @dead_letter = tools.options, tools.report, tools.dead_letter
          @metrics = tools.metrics
          @backoff = RetryBackoff.new(@options.retry_backoff)
        end

        #: (Processing::WorkItem, Exception, ?at: Integer?) -> void
        def met(item, error, at: nil)
          batch = item.batch
          all = item.marked == batch.last_offset
          begin_again(item)
          return told(batch, error, 0, note: MARKED) if all

          item.failed(at)
          failures = item.failures # what is divided may begin to count again
          item.divide(at, wait: batch.first_offset == at)
          last?(item,
                error) ? give_up(item, error, failures) : try_again(item, error, failures)
        end

        # What the handler asked for, before it returned: Batch#__wish.
        def wished(item, wish) #: (Processing::WorkItem, [Symbol, *untyped]) -> void
          last = item.batch.last_offset
          begin_again(item)
          case wish
          in [:pause, seconds, level] then pause(item, seconds, level)
          in [:seek, place] then seek(item, place, last)
          end
        end

        # attempts, crashes: what its headers are to say.
        #: (Processing::WorkItem, Exception, ?attempts: Integer, **Integer) -> void
        def bury(item, error, attempts: item.failures.count, **crashes)
          batch = item.batch
          return keep(item, error, **crashes) if batch.topic == @options.dead_letter

          @child.busy(for: DeadLetterQueue::LONGEST * @options.threads) do
            @dead_letter.put(batch.messages.first, error, attempts:, through: @outputs, **crashes)
          end
          @completion.finish(item) or return

          @metrics.count(batch, :dead_letters)
          @report.failed(:dead_lettered, batch, error, attempt: attempts, **crashes,
                                                       to: @options.dead_letter)
        rescue OutputFailed => e # it stays here then, and is tried again
          @outputs.abort
          try_again(item, e)
        end

        # The partition moves on without it.
        def skip(item) #: (Processing::WorkItem) -> void
          batch = item.batch
          @completion.finish(item) and @metrics.count(batch, :skipped)
        rescue OutputFailed => e
          @outputs.abort
          try_again(item, e)
        end

        private

        # It came from the dead letter topic, and would come again from there.
        def keep(item, error, crashes: nil)
          place = item.batch.place.except(:last_offset)
          @report.problem("DEAD_LETTER", KEPT, name: :not_dead_lettered, level: :warn, **place)
          crashes ? item.pause : try_again(item, error)
        end

        KEPT = "it came from the dead letter topic, which `topics:` matches, and isn't written " \
               "there again: mend the code, or choose a dead_letter: that this source doesn't read"
        MARKED = "all of it was marked as done before"
        private_constant :KEPT, :MARKED

        # What was marked is done; what was produced since belongs to nothing that is.
        def begin_again(item)
          @outputs.abort
          @completion.cut(item)
          item.batch&.__reset_strings
        end

        # What only the cluster is to blame for isn't given up.
        def last?(item, error)
          return false if error.is_a?(OutputFailed) && error.passing?
          return false unless @options.attempts
          return true if error.is_a?(NonRetryable)
          return false if item.failures.count < @options.attempts

          item.batch.size > 1 || spent?(item.failures)
        end

        # Returns true if the message is to blame: others succeeded meanwhile, or it had time
        # enough.
        def spent?(failures)
          failures.alone >= [@options.attempts - 1, 1].max ||
            OS.now - failures.since >= @options.retry_for.to_f
        end

        def seek(item, place, last)
          offset = @scheduler.seek(item, place, last) or return
          topic, partition = item.partition.key
          @report.tell(:kafka_seek_waits, topic:, partition:, to: place.to_s, offset:)
        end

        def pause(item, seconds, level)
          item.rest(seconds)
          topic, number = item.partition.key
          @report.tell(:kafka_paused, topic:, partition: number, seconds:, level:,
                                      offset: item.batch&.first_offset)
        end

        # failures: of what has failed, where that was divided.
        def try_again(item, error, failures = item.failures)
          seconds = rest(item, failures)
          told(item.batch, error, seconds.round(3), attempt: failures.number)
          held(item.partition) if item.partition.held?
        end

        # Returns the seconds, at most. After an outage the first failure that is the message's own
        # rests for the second backoff.
        def rest(item, failures)
          now = OS.now
          lasted = now - failures.outage_since
          if failures.alone.positive?
            seconds = @backoff.seconds([failures.number, failures.alone + 1].min)
          elsif lasted < OUTAGE_LIMIT
            seconds = @backoff.seconds(failures.number, limit: OUTAGE_LIMIT)
          else
            return await_success(item, failures, now, lasted)
          end
          item.rest(seconds)
          seconds
        end

        # Nothing of the partition has succeeded for a while: one of its work items at a time tries
        # whether that has changed, and the others rest until then.
        def await_success(item, failures, now, lasted)
          limit = @scheduler.probe(item.partition) ? RetryBackoff::LIMIT : OUTAGE_LIMIT
          seconds = @backoff.seconds(failures.number, limit:, least: lasted)
          item.rest(seconds, awaiting: now)
          seconds
        end

        # Of many messages it isn't known which can't be done: they are tried one by one first.
        def give_up(item, error, failures)
          return bury(item, error) if item.batch.size == 1

          told(item.batch, error, 0, attempt: failures.number, note: "from now on one by one")
          item.split
        end

        def told(batch, error, seconds, **facts)
          @metrics.count(batch, :retries)
          @report.failed(:handler_failed, batch, error, seconds:, **facts)
        end

        def held(partition)
          @report.problem("HELD", HELD, name: :kafka_held, level: :warn, topic: partition.topic,
                                        partition: partition.number, offset: partition.position)
        end
      end
    end
  end
end
