# frozen_string_literal: true

# What the handler of one topic shows, in this process and in others of the swarm: which messages
# succeed, and which fail. FailureCause judges by it. Thread-safe.
#
#   evidence = TopicEvidence.new(records, kind, replaceable: true)
#   evidence.succeeded(20, began) { units }     # so many messages are done; when that try began
#   evidence.failed(id, unit, OS.now)           # a message has failed
#   evidence.failed(id, unit, OS.now, known: false)   # one of several; id is of the first of them
#   evidence.failed(id, unit, OS.now, known: false, again: true)   # one of a part of those
#   TopicEvidence.id("orders", 3, 41)           # names a message
#   evidence.about(id, history, OS.now)         # => Evidence for a decision on that message
#   evidence.condemned(id)                      # it isn't tried any more
#   evidence.condemned(id, own: true)           # and its failure says nothing about others
#   evidence.forget(id)                         # its next failure is its first one again
#
# A unit is what one bad message holds up: a partition, or a key. If a unit fails first while all
# others go on, the fault is in that unit. If others that are tried then fail as well, before any
# message of them has succeeded, they share a cause: the dependency. How long ago others succeeded
# says less, because at full speed, with one bad message in 200, each partition of a process waits
# at one within a second.
module Skep
  module Kafka
    module Failure
      # Facts about a message that has failed, and about the process and the swarm in which it has.
      #
      # others_wait: another work item of its partition waits for a success. units: [others that
      # have succeeded since it failed first, others that failed when they were tried first since
      # then, or of whose failure its own unit has seen no end]. messages, swarm: [messages that
      # have succeeded since then, others that have failed first], in this process and in the whole
      # swarm. failing: how many messages fail in this process and in no other, since the last
      # success there, and stuck_for: for how many seconds. elsewhere: since then, how many messages
      # have succeeded and how many have failed in other processes. failing_elsewhere: how many
      # other messages have failed there since anything succeeded in the swarm; well_elsewhere: for
      # how many seconds that was seen to be 0. alone: no other process has tried anything since.
      # fresh: another process has tried it, too, or there can't be one. asked: another process is
      # on its way. comparable: there may be other processes. behind: messages of its partition
      # wait behind it. trouble: how much fails first in this process, besides this message: each
      # such failure adds FAILURE, each success takes 1 away; the most while it was tried.
      # trouble_each: the same on average of the processes that work or fail. troubled_for: for how
      # many seconds it goes on, and meanwhile: how many messages have succeeded and how many have
      # failed first since then; meanwhile_elsewhere: in other processes.
      Evidence = Struct.new(:others_wait, :units, :messages, :swarm, :failing, :stuck_for,
                            :elsewhere, :failing_elsewhere, :well_elsewhere, :alone, :fresh, :asked,
                            :comparable, :behind, :trouble, :trouble_each, :troubled_for,
                            :meanwhile, :meanwhile_elsewhere, keyword_init: true)

      class TopicEvidence
        FIRSTS = 1_000 # messages that fail, and units that have succeeded, at most
        FORGET = 60.0 # seconds since a message failed last, or since anything failed first
        FAILURE = 12 # successes that make up for one that fails first
        MOST = 10 * FAILURE # of the trouble
        TROUBLES = 50
        READ_EVERY = 0.05 # seconds
        ACTIVE = 5.0 # seconds since the last failure in which a process counts as failing
        ASK_AGAIN = 5.0 # seconds
        NO_SUCCESSOR = 60.0 # seconds after which no other process is expected any more
        # When a message failed first, and what had been counted then. unit_at: when the last try of
        # its unit began that succeeded, if that is known. closed: the unit has succeeded since.
        # over: it was an outage.
        First = Struct.new(:unit, :at, :last_at, :unit_at, :successes, :failed,
                           :successes_elsewhere, :failed_elsewhere, :closed, :over)
        private_constant :FIRSTS, :MOST, :TROUBLES, :FORGET, :READ_EVERY, :ACTIVE, :ASK_AGAIN,
                         :NO_SUCCESSOR, :First

        # A number that names a message, the same in all processes.
        def self.id(topic, partition, offset)
          ((Zlib.crc32("#{topic}/#{partition}") & 0xffff) << 48) | (offset & ((1 << 48) - 1))
        end

        # records: IPC::Scoreboard::HandlerRecords; nil outside of a swarm. kind: of the topic's
        # record. replaceable: a supervisor can replace this process.
        # longest_wait: seconds between two tries of a message, at most.
        def initialize(records, kind, replaceable:, longest_wait: 0, read_every: READ_EVERY)
          @read_every = read_every
          @forget = FORGET + (2 * longest_wait)
          @records, @kind, @replaceable = records, kind, replaceable
          @own = records&.own(kind)
          @lock = Mutex.new
          @successes = @failed = @trouble = 0
          @tried = {} # when a message failed last, by id
          @troubles = [] # [when, trouble] at failures while there is any
          @firsts, @former_firsts = {}, {} # by id; former: nothing has failed for a moment
          @open = {} # by unit: those of which nothing has succeeded since
          @units = {} # while some fail: when the last try of a unit began that succeeded
          @failing = {} # ids of messages that have failed since the last success
          @others = []
          @counts, @counts_elsewhere = {}, [0, 0] # by cell; what all of them have grown by
          @read_at = -Float::INFINITY
        end

        # The block returns the units.
        def succeeded(count, began)
          @lock.synchronize do
            @successes += count
            @success = [@success, began].compact.max
            @failing.clear
            self.trouble = @trouble - count if @trouble.positive?
            @own&.succeeded(count, began)
            yield.each { |unit| unit_succeeded(unit, began) } if @open.any?
          end
        end

        # again: it failed before, as a part of more messages.
        def failed(id, unit, now, known: true, again: false)
          @lock.synchronize do
            self.trouble = 0 if @failed_at && now - @failed_at > FORGET
            expire(now)
            continue(id, unit)
            fails(id, now)
            @own&.failed(now)
            first = @firsts[id]
            next first.last_at = now if first && !first.over

            troubled(now) if new?(id, now) && (known || !again)
            @troubles = [*@troubles.last(TROUBLES - 1), [now, @trouble]] if @trouble > FAILURE
            @failed += 1 if known && !first
            @failed_at = now # that something has failed first
            begin_with(first || add(id, unit), now) if known
            next if first

            @own&.fails_first(id, failing: @failing.size, since: @failing_since, known:)
          end
        end

        # own: by its class the error is the message's, whatever others do.
        def condemned(id, own: false)
          @lock.synchronize do
            @firsts.delete(id)&.then { |first| close(first) }
            next unless own && @tried.delete(id)

            @failing.delete(id)
            @failed -= 1
            self.trouble = @trouble - FAILURE
          end
        end

        def forget(id) = @lock.synchronize { @firsts[id]&.over = true }

        # history: the FailureCount of the message. began: when it was tried last. others_wait,
        # behind: see Evidence.
        def about(id, history, now, began: now, others_wait: false, behind: false)
          @lock.synchronize do
            first = @firsts[id]
            units, messages, swarm = *(first ? compare(first, now) : [[0, 0]] * 3)
            last = [@success, last_elsewhere].compact.max.to_f
            failing_elsewhere = failing_elsewhere(id, last, now)
            @elsewhere_failed_at = now if failing_elsewhere.positive?
            trouble = [trouble_since(began) - (@tried.key?(id) ? FAILURE : 0), 0].max
            Evidence.new(
              others_wait:, behind:, comparable: @replaceable, units:, messages:, swarm:,
              failing: failing_only_here.size,
              stuck_for: @failing.any? ? now - @failing_since : 0.0, elsewhere: since_failing,
              failing_elsewhere:, well_elsewhere: now - (@elsewhere_failed_at || -Float::INFINITY),
              alone: alone?,
              fresh: fresh?(id, history, now), asked: asked?(now),
              trouble:, trouble_each: trouble_each(trouble, now),
              troubled_for: @trouble.zero? || calm?(now) ? 0.0 : now - @troubled_since,
              meanwhile: counted([@successes, @failed], @before_trouble),
              meanwhile_elsewhere: counted(counts_elsewhere, @elsewhere_before_trouble)
            )
          end
        end

        # Another process is to take this one's place. Returns false if that was asked for already.
        def ask_for_successor(now)
          @lock.synchronize do
            next false if asked?(now)

            @asked_first ||= now
            @asked_at = now
            true
          end
        end

        def inspect = "#<Skep::Kafka::Failure::TopicEvidence failing=#{@failing.size}>"

        private

        def unit_succeeded(unit, began)
          @units.delete(unit)
          @units[unit] = began
          @units.shift if @units.size > FIRSTS
          @open.delete(unit)&.each { |first| first.closed = true }
          return if @open.any?

          @former_firsts, @firsts = @firsts, {}
          @units.clear
        end

        def close(first)
          first.closed = true
          left = @open[first.unit].to_a.reject { |one| one.equal?(first) }
          left.any? ? @open[first.unit] = left : @open.delete(first.unit)
        end

        # (A partition with such a message may have been revoked.)
        def expire(now)
          @firsts.delete_if do |_, first|
            old = first.last_at < now - @forget
            close(first) if old
            old
          end
        end

        # Its unit has succeeded with messages before it, and it fails still.
        def continue(id, unit)
          first = @former_firsts.delete(id) or return
          @firsts[id] = first
          first.closed = false
          (@open[unit] ||= []) << first
        end

        def add(id, unit)
          @firsts.shift.last.then { |oldest| close(oldest) } if @firsts.size >= FIRSTS
          first = @firsts[id] = First.new(unit)
          (@open[unit] ||= []) << first
          first
        end

        def begin_with(first, now)
          first.at = first.last_at = now
          first.unit_at = @units[first.unit]
          first.successes, first.failed = @successes, @failed
          first.successes_elsewhere, first.failed_elsewhere = nil, counts_elsewhere.last
          first.over = false
        end

        # Once others succeed again after an outage, the count begins again.
        def fails(id, now)
          @others_succeed = false if @failing.empty?
          recovered = !@others_succeed && @failing.any? && last_elsewhere.to_f > @failing_since
          if recovered || @failing.empty?
            @failing.clear
            @failing_since = now
            @elsewhere = counts_elsewhere
            @others_succeed = recovered
          end
          @failing[id] = true
          @failing.shift if @failing.size > FIRSTS
        end

        # Has it not failed before? (Its First is gone once messages before it have succeeded.)
        def new?(id, now)
          last = @tried.delete(id)
          @tried[id] = now
          @tried.shift if @tried.size > FIRSTS
          last.nil? || last < now - @forget
        end

        def troubled(now)
          if @trouble.zero? || calm?(now)
            @troubled_since = now
            @before_trouble = [@successes, @failed]
            @elsewhere_before_trouble = counts_elsewhere
          end
          self.trouble = @trouble + FAILURE
        end

        # How large it was since that time.
        def trouble_since(began)
          [@trouble, *@troubles.filter_map { |at, trouble| trouble if at >= began }].max
        end

        # Nothing has failed first for a while.
        def calm?(now) = now - @failed_at > ACTIVE

        def trouble=(number)
          @trouble = number.clamp(0, MOST)
          @own&.trouble = @trouble
        end

        # own: this process's.
        def trouble_each(own, now)
          active = others.select { |one| [one.failed_at, one.succeeded_at].max > now - ACTIVE }
          failing = active.select { |one| one.failed_at > now - ACTIVE }
          (own + failing.sum(&:trouble)).fdiv(active.size + 1)
        end

        # See Evidence. (What others have counted may be a moment old: their successes count from a
        # later moment on.)
        def compare(first, now)
          if first.successes_elsewhere.nil? && now - first.at > 2 * @read_every
            first.successes_elsewhere = counts_elsewhere.first
          end
          good, bad = @successes - first.successes, [@failed - first.failed, 0].max
          elsewhere = [first.successes_elsewhere || Float::INFINITY, first.failed_elsewhere]
          elsewhere = counted(counts_elsewhere, elsewhere)
          bad = elsewhere[1] = 0 if now - @failed_at > FORGET
          [units(first), [good, bad], [good + elsewhere[0], bad + elsewhere[1]]]
        end

        def units(first)
          failed = @firsts.values.select { |other| together?(first, other) }.map(&:unit).uniq
          succeeded = @units.count { |unit, at| at > first.at && unit != first.unit }
          [[succeeded - (failed & @units.keys).count { |unit| @units[unit] > first.at }, 0].max,
           failed.size]
        end

        # Returns true if between the first failures of both nothing of the later one's unit has
        # succeeded.
        def together?(first, other)
          return false if other.unit == first.unit
          return first.at > other.unit_at.to_f if other.at > first.at

          !other.closed && other.at > first.unit_at.to_f
        end

        def others
          return @others unless @records

          now = OS.now
          if now - @read_at >= @read_every
            @others = @records.others(@kind)
            @others.each { |one| add_counts(one) }
            @read_at = now
          end
          @others
        end

        # A new process may have the cells of one that has ended, and counts from 0.
        def add_counts(facts)
          counts = [facts.successes, facts.failed]
          before = @counts.fetch(facts.cell, [0, 0])
          before = [0, 0] if counts.zip(before).any? { |now, earlier| now < earlier }
          @counts[facts.cell] = counts
          added = counts.zip(before).map { |now, earlier| now - earlier }
          @counts_elsewhere = @counts_elsewhere.zip(added).map(&:sum)
        end

        # Grows by what others do. (It may begin at any number.)
        def counts_elsewhere
          others
          @counts_elsewhere
        end

        # What others have done since this process fails. (What they did a moment before may not
        # have been read then: it counts only once something has succeeded that began afterwards.)
        def since_failing
          return [0, 0] unless @failing.any? && last_elsewhere.to_f > @failing_since

          counted(counts_elsewhere, @elsewhere)
        end

        def counted(now, before)
          before ? now.zip(before).map { |to, from| [to - from, 0].max } : [0, 0]
        end

        def last_elsewhere = others.map(&:succeeded_at).select(&:positive?).max

        def failing_only_here = @failing.keys - others.flat_map(&:ids)

        # A message that another process has tried before this one is counted here.
        def failing_elsewhere(id, time, now)
          active = others.select { |one| one.failed_at > now - ACTIVE && one.failing_since > time }
          active.flat_map { |one| one.ids.last(one.failing) }.uniq.count { |one| one != id }
        end

        # A record of a process that has ended says nothing, unless that process failed since the
        # last success here: its outage goes on.
        def alone?
          others.none? do |one|
            [one.failed_at, one.succeeded_at].max > @failing_since.to_f ||
              (one.failing.positive? && one.failed_at > @success.to_f)
          end
        end

        def fresh?(id, history, now)
          history.restored? || !@replaceable || others.any? { |one| one.ids.include?(id) } ||
            (@asked_first ? now - @asked_first > NO_SUCCESSOR : false)
        end

        def asked?(now) = @asked_at ? now - @asked_at <= ASK_AGAIN : false
      end
    end
  end
end
