# frozen_string_literal: true

# What fails at present in the partitions of one handler, and what skep takes for the cause. The
# status shows it. Reports when a dependency becomes unavailable, and when it is back. Thread-safe.
#
#   failures = PresentFailures.new(report)
#   failures.failed(item, attempt, history, evidence, :message, retry_at: …)   # nil: the cause
#                                                 # isn't known
#   failures.undelivered(item.partition, item.unit, error, retry_at)   # its dead letter
#                                                 # couldn't be written
#   failures.paused(item.partition, until)        # the handler has asked for that
#   failures.recovered(partition, 41) { units }   # messages of these units are done, up to there
#   failures.gave_up(item.partition, item.unit)   # the message is dead-lettered or skipped
#   failures.forget(partition)                    # it continues elsewhere
#   failures.to_plain             # => { ["orders", 3] => { "cause" => "message", … } }
#
# An outage begins with the first failure of which a dependency is the cause. It ends with a
# success, once no message fails any more that was part of it. If a rebalance takes all of them,
# nothing is reported: they fail, or succeed, in another process.
module Skep
  module Kafka
    module Failure
      class PresentFailures
        # Bad messages close to each other look like a part of a dependency for a moment.
        LEAST = { dependency: 0.0, part_of_dependency: 3.0 }.freeze # seconds
        HINTS = {
          dependency: "Nothing succeeds in any node: a dependency is unavailable, or the handler " \
                      "fails with every message. They are retried as long as that lasts",
          part_of_dependency: "Many messages fail together: a part of a dependency is " \
                              "unavailable. They are retried as long as that lasts"
        }.freeze
        AGAIN = 10.0 # seconds after an outage in which no other one is reported
        # since, retry_at: monotonic seconds. error: as text; at: its line. held: it isn't tried
        # again. dead_letter_topic: where it is to go if it fails too often. undelivered: it
        # couldn't be written there.
        Failing = Struct.new(:offset, :cause, :attempt, :since, :error, :at, :retry_at, :held,
                             :dead_letter_topic, :undelivered)
        Outage = Struct.new(:topic, :since, :messages)
        LETTERS = 300 # of an error
        private_constant :LEAST, :HINTS, :AGAIN, :LETTERS, :Failing, :Outage

        def initialize(report)
          @report = report
          @lock = Mutex.new
          @any = false
          @failing = {}.compare_by_identity # by partition: Failing by unit
          @in_outage = {} # the partition by unit, where a dependency is the cause
          @paused = {}.compare_by_identity # by partition: until when
          @over_at = -Float::INFINITY
        end

        # Returns false if there is nothing that could recover.
        def any? = @any

        # The item's try has failed; it isn't settled yet, so that none of it can recover meanwhile.
        # history: a FailureCount. fate: of the message, see Failing.
        def failed(item, attempt, history, evidence, cause, **fate)
          return if item.partition.revocation

          now = OS.now
          fate = { error: text(attempt.error), at: ErrorPlace.of(attempt.error), **fate }
          begun = @lock.synchronize do
            end_quietly if @outage && all_revoked?
            failing, again = note(item, attempt, history, cause, now, fate)
            next unless LEAST.key?(cause)
            next begin_outage(item, failing, evidence, now) unless @outage

            @outage.messages += 1 unless again
            nil
          end
          report_begin(item, attempt, cause, now - begun.since) if begun
        end

        # The block returns the units. Returns true if one of them has recovered.
        def recovered(partition, offset)
          return false unless @outage || @failing.key?(partition)

          over = nil
          recovered = @lock.synchronize do
            units = @failing.fetch(partition, {})
            done = units.empty? ? [] : yield.select { |unit| units[unit]&.offset&.<=(offset) }
            over = end_outage(done)
            done.each { |unit| drop(partition, unit) }
            done.any?
          end
          report_end(over) if over
          recovered
        end

        # Its dead letter couldn't be written.
        def undelivered(partition, unit, error, retry_at)
          text = text(error)
          @lock.synchronize do
            failing = @failing.dig(partition, unit) or next
            failing.undelivered, failing.error, failing.retry_at = true, text, retry_at
          end
        end

        # The handler has asked for a pause of the partition until then.
        def paused(partition, time) = @lock.synchronize { @paused[partition] = time }

        # Returns until when partitions are paused, by topic and number.
        def pauses
          @lock.synchronize do
            now = OS.now
            @paused.keys.each do |one|
              @paused.delete(one) if one.revocation || @paused[one] <= now
            end
            @paused.to_h { |partition, time| [partition.key, time] }
          end
        end

        def gave_up(partition, unit) = @lock.synchronize { drop(partition, unit) }

        def forget(partition)
          @lock.synchronize { @failing[partition].to_h.each_key { |unit| drop(partition, unit) } }
        end

        # The same for each partition as one row: of the cause that most of its messages share.
        def to_plain
          @lock.synchronize do
            forget_revoked
            @failing.to_h { |partition, units| [partition.key, row(units.values)] }
          end
        end

        def inspect = "#<Skep::Kafka::Failure::PresentFailures #{@failing.size}>"

        private

        def text(error) = @report.describe(error)[0, LETTERS]

        # Returns what fails, and true if it was part of the outage before.
        def note(item, attempt, history, cause, now, fate)
          partition, unit = item.partition, item.unit(attempt.offset)
          units = @failing[partition] ||= {}
          former = units[unit]
          offset = attempt.offset || (item.keys ? item.slice.first_offset : item.slice.last_offset)
          again = former&.offset == offset && @in_outage.key?(unit)
          units[unit] = Failing.new(offset, cause, history.number, former&.since || now)
          fate.each { |name, fact| units[unit][name] = fact }
          units[unit].undelivered = former.undelivered if former&.offset == offset
          LEAST.key?(cause) ? @in_outage[unit] = partition : @in_outage.delete(unit)
          @any = true
          [units[unit], again]
        end

        # stuck_for: nothing has succeeded since then, in a whole outage.
        def begin_outage(item, failing, evidence, now)
          return if now < @over_at + AGAIN || now < failing.since + LEAST.fetch(failing.cause)

          since = [failing.since, now - evidence.stuck_for].min
          @outage = Outage.new(item.partition.topic, since, @in_outage.size)
        end

        # done: the units that have recovered. Returns the outage if that was the last of it.
        def end_outage(done)
          part = done.count { |unit| @in_outage.delete(unit) }.positive?
          return unless @outage && (@in_outage.empty? || all_revoked?)

          over = @outage if part || @in_outage.empty?
          @over_at = OS.now if over
          end_quietly
          over
        end

        def end_quietly
          @in_outage.clear
          @outage = nil
          @any = @failing.any?
        end

        # All that was part of the outage.
        def all_revoked? = @in_outage.any? && @in_outage.each_value.all?(&:revocation)

        def drop(partition, unit)
          @in_outage.delete(unit)
          units = @failing[partition] or return
          units.delete(unit)
          @failing.delete(partition) if units.empty?
          @any = @failing.any? || !@outage.nil?
        end

        def forget_revoked
          return unless @any

          @failing.delete_if { |partition, _| partition.revocation }
          end_quietly if all_revoked?
          @in_outage.delete_if { |_, partition| partition.revocation }
          @any = @failing.any? || !@outage.nil?
        end

        # Those that are held come first: nothing but an operator ends that.
        def row(failing)
          held = failing.select(&:held)
          cause, some = (held.any? ? held : failing).group_by(&:cause).max_by { |_, all| all.size }
          last = some.max_by(&:attempt)
          { "cause" => (cause || :unknown).to_s, "messages" => some.size,
            "since" => some.map(&:since).min.round(3),
            "offset" => last.offset, "attempt" => last.attempt, "error" => last.error,
            "at" => last.at, "retry_at" => last.retry_at&.round(3),
            "held" => last.held ? true : false, "dead_letter_topic" => last.dead_letter_topic,
            "undelivered" => last.undelivered ? true : false }
        end

        def report_begin(item, attempt, cause, duration)
          offset = attempt.offset ? { offset: attempt.offset } : {}
          @report.failed(:kafka_dependency_away, item.slice, attempt.error,
                         level: :warn, **offset, cause:, duration: duration.round(3),
                         hint: HINTS.fetch(cause))
        end

        def report_end(outage)
          @report.event(:kafka_dependency_back, topic: outage.topic, messages: outage.messages,
                                                duration: (OS.now - outage.since).round(3))
        end
      end
    end
  end
end
