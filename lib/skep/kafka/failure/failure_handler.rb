# frozen_string_literal: true

# What becomes of a batch that isn't done: one whose handler raised rests and is tried again; after
# many attempts its messages are tried one by one, and the one that can't be done is set aside. One
# of which the handler said "not now", or "from there", does so.
#
#   setback.met(strand, error, at: 41)     # at: the offset that was given out, where that is known
#   setback.wished(strand, [:pause, 30, :info])
#   setback.bury(strand, error)            # at once, into the dead letter topic
module Skep
  module Kafka
    module Failure
      class FailureHandler
        HELD = "what is unfinished keeps the rest from being read: it is `ahead:` messages behind"
        OUTAGE_LIMIT = RetryBackoff::OUTAGE_LIMIT
        private_constant :HELD, :OUTAGE_LIMIT

        #: (Processing::Tools, Child, Processing::Completion, Producer::HandlerProducer) -> void
        def initialize(tools, child, ledger, outputs)
          @child, @ledger, @outputs, @desk = child, ledger, outputs, tools.desk
          @options, @report, @dead_letter = tools.options, tools.report, tools.dead_letter
          @meter = tools.meter
          @backoff = RetryBackoff.new(@options.retry_backoff)
        end

        #: (Processing::WorkItem, Exception, ?at: Integer?) -> void
        def met(strand, error, at: nil)
          batch = strand.batch
          all = strand.marked == batch.last_offset
          begin_again(strand)
          return told(batch, error, 0, note: MARKED) if all

          strand.failed(at)
          failures = strand.failures # what is divided may begin to count again
          strand.divide(at, wait: batch.first_offset == at)
          last?(strand,
                error) ? give_up(strand, error, failures) : try_again(strand, error, failures)
        end

        # What the handler asked for, before it returned: Batch#__wish.
        def wished(strand, wish) #: (Processing::WorkItem, [Symbol, *untyped]) -> void
          last = strand.batch.last_offset
          begin_again(strand)
          case wish
          in [:pause, seconds, level] then pause(strand, seconds, level)
          in [:seek, place] then seek(strand, place, last)
          end
        end

        # attempts, crashes: what its headers are to say.
        #: (Processing::WorkItem, Exception, ?attempts: Integer, **Integer) -> void
        def bury(strand, error, attempts: strand.failures.count, **crashes)
          batch = strand.batch
          return keep(strand, error, **crashes) if batch.topic == @options.dead_letter

          @child.busy(for: DeadLetterQueue::LONGEST * @options.threads) do
            @dead_letter.put(batch.messages.first, error, attempts:, through: @outputs, **crashes)
          end
          @ledger.finish(strand) or return

          @meter.count(batch, :dead_letters)
          @report.failed(:dead_lettered, batch, error, attempt: attempts, **crashes,
                                                       to: @options.dead_letter)
        rescue OutputFailed => e # it stays here then, and is tried again
          @outputs.abort
          try_again(strand, e)
        end

        # The partition moves on without it.
        def skip(strand) #: (Processing::WorkItem) -> void
          batch = strand.batch
          @ledger.finish(strand) and @meter.count(batch, :skipped)
        rescue OutputFailed => e
          @outputs.abort
          try_again(strand, e)
        end

        private

        # It came from the dead letter topic, and would come again from there.
        def keep(strand, error, crashes: nil)
          place = strand.batch.place.except(:last_offset)
          @report.problem("DEAD_LETTER", KEPT, name: :not_dead_lettered, level: :warn, **place)
          crashes ? strand.pause : try_again(strand, error)
        end

        KEPT = "it came from the dead letter topic, which `topics:` matches, and isn't written " \
               "there again: mend the code, or choose a dead_letter: that this source doesn't read"
        MARKED = "all of it was marked as done before"
        private_constant :KEPT, :MARKED

        # What was marked is done; what was produced since belongs to nothing that is.
        def begin_again(strand)
          @outputs.abort
          @ledger.cut(strand)
          strand.batch&.__anew
        end

        # What only the cluster is to blame for isn't given up.
        def last?(strand, error)
          return false if error.is_a?(OutputFailed) && error.passing?
          return false unless @options.attempts
          return true if error.is_a?(NonRetryable)
          return false if strand.failures.count < @options.attempts

          strand.batch.size > 1 || spent?(strand.failures)
        end

        # Returns true if the message is to blame: others succeeded meanwhile, or it had time
        # enough.
        def spent?(failures)
          failures.alone >= [@options.attempts - 1, 1].max ||
            OS.now - failures.since >= @options.retry_for.to_f
        end

        def seek(strand, place, last)
          offset = @desk.seek(strand, place, last) or return
          topic, partition = strand.partition.key
          @report.tell(:kafka_seek_waits, topic:, partition:, to: place.to_s, offset:)
        end

        def pause(strand, seconds, level)
          strand.rest(seconds)
          topic, number = strand.partition.key
          @report.tell(:kafka_paused, topic:, partition: number, seconds:, level:,
                                      offset: strand.batch&.first_offset)
        end

        # failures: of what has failed, where that was divided.
        def try_again(strand, error, failures = strand.failures)
          seconds = rest(strand, failures)
          told(strand.batch, error, seconds.round(3), attempt: failures.number)
          held(strand.partition) if strand.partition.held?
        end

        # Returns the seconds, at most. After an outage the first failure that is the message's own
        # rests for the second backoff.
        def rest(strand, failures)
          now = OS.now
          lasted = now - failures.outage_since
          if failures.alone.positive?
            seconds = @backoff.seconds([failures.number, failures.alone + 1].min)
          elsif lasted < OUTAGE_LIMIT
            seconds = @backoff.seconds(failures.number, limit: OUTAGE_LIMIT)
          else
            return await_success(strand, failures, now, lasted)
          end
          strand.rest(seconds)
          seconds
        end

        # Nothing of the partition has succeeded for a while: one of its strands at a time tries
        # whether that has changed, and the others rest until then.
        def await_success(strand, failures, now, lasted)
          limit = @desk.probe(strand.partition) ? RetryBackoff::LIMIT : OUTAGE_LIMIT
          seconds = @backoff.seconds(failures.number, limit:, least: lasted)
          strand.rest(seconds, awaiting: now)
          seconds
        end

        # Of many messages it isn't known which can't be done: they are tried one by one first.
        def give_up(strand, error, failures)
          return bury(strand, error) if strand.batch.size == 1

          told(strand.batch, error, 0, attempt: failures.number, note: "from now on one by one")
          strand.split
        end

        def told(batch, error, seconds, **facts)
          @meter.count(batch, :retries)
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
