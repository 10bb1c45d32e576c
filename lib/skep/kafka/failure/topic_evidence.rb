# frozen_string_literal: true

# What the handler of one topic shows, in this process and in others of the swarm: which messages
# succeed, and which fail. RetryPolicy judges by it whether a message is bad, the process is ill, or
# a dependency of the handler is unavailable. Thread-safe.
#
#   evidence = TopicEvidence.new(records, kind, replaceable: true)
#   evidence.succeeded(20, began)       # so many messages are done; when that try began
#   evidence.failed(id, OS.now)         # a message has failed; TopicEvidence.id(…) names it
#   evidence.failed(id, OS.now, known: false)   # one of several; id is of the first of them
#   evidence.last_success               # when the last try that succeeded began, in any process
#   evidence.nothing_succeeds?          # several messages have begun to fail since
#   evidence.about(id, history, OS.now) # => Evidence for a decision on that message
#
# A dependency that goes away fails many messages one after the other, with no success in between.
# Between two bad messages others succeed. So what tells them apart is when messages fail for the
# first time, counted in successes of this process: a message is isolated if APART others have
# succeeded between its first failure and that of any other message. (How many fail in a time says
# less: by key, messages that fail hold up those behind them, and the others go on.)
module Skep
  module Kafka
    module Failure
      # Facts about a message that has failed, and about the process and the swarm in which it has.
      #
      # others_wait: another work item of its partition waits for a success. isolated: see
      # TopicEvidence. before, after: [successes, others that failed for the first time] in this
      # process, up to NEAR successes before and after it failed first. recent: how many messages
      # have failed in this process in the last seconds; since: how many have succeeded since it
      # failed first. here: another message has
      # succeeded in this process since it failed first. failing: how many messages have failed
      # for the first time in this process since the last success there, and stuck_for: for how many
      # seconds. elsewhere: since then, how many messages have succeeded and how many have failed in
      # other processes. failing_elsewhere: how many other messages have failed there since anything
      # succeeded in the swarm. stuck_elsewhere: how many other processes fail with all that they
      # try. fresh: another process has tried it, too, or there can't be one. asked: another process
      # is on its way.
      Evidence = Struct.new(:others_wait, :isolated, :before, :after, :recent, :since, :here,
                            :failing,
                            :stuck_for, :elsewhere, :failing_elsewhere, :stuck_elsewhere, :fresh,
                            :asked, keyword_init: true) do
        # Returns true if other messages have failed for the first time near it.
        def others_fail? = failing ? before.last + after.last > 0 : false
      end

      class TopicEvidence
        APART = 10
        NEAR = 20
        LATELY = 3.0 # seconds; a message that fails in an outage is tried twice in that time
        REMEMBERED = 1_000 # messages that have failed
        RECENT = 1_000 # of those, when they failed first
        READ_EVERY = 0.05 # seconds
        ACTIVE = 5.0 # seconds since its last failure in which a process counts as failing
        STUCK = 1.0 # seconds without a success after which a process fails with all that it tries
        NO_SUCCESSOR = 60.0 # seconds after which no other process is expected any more
        # When a message failed first, and how many had succeeded in this process until then.
        First = Struct.new(:id, :successes)
        private_constant :APART, :NEAR, :LATELY, :REMEMBERED, :RECENT, :READ_EVERY, :ACTIVE, :STUCK,
                         :NO_SUCCESSOR, :First

        # A number that names a message, the same in all processes.
        def self.id(topic, partition, offset)
          ((Zlib.crc32("#{topic}/#{partition}") & 0xffff) << 48) | (offset & ((1 << 48) - 1))
        end

        # records: IPC::Scoreboard::HandlerRecords; nil: there are no other processes. kind: of the
        # topic's record. replaceable: a supervisor can replace this process.
        def initialize(records, kind, replaceable:, read_every: READ_EVERY)
          @read_every = read_every
          @records, @kind, @replaceable = records, kind, replaceable
          @own = records&.own(kind)
          @lock = Mutex.new
          @successes = @failing = 0
          @known = {} # ids of messages that have failed
          @firsts = [] # oldest first
          @lately = {} # when messages failed last, oldest first
          @others = []
          @read_at = -Float::INFINITY
        end

        def succeeded(count, began)
          @lock.synchronize do
            @successes += count
            @success = [@success, began].compact.max
            @failing = 0
            @own&.succeeded(count, began)
          end
        end

        def failed(id, now, known: true)
          @lock.synchronize do
            @lately.delete(id)
            @lately[id] = now
            seen = @known[id]
            next if seen || (seen == false && !known)

            remember(id, known)
            fails(now) if seen.nil?
            fails_alone(id) if known
            @own&.fails_first(id, failing: @failing, since: @failing_since.to_f, known:)
          ensure
            @own&.failed(now)
          end
        end

        def last_success = @lock.synchronize { last_of_all }

        def nothing_succeeds?
          @lock.synchronize do
            last = last_of_all.to_f
            failing_since(last) + failing_elsewhere(nil, last, OS.now) > 1
          end
        end

        # history: the FailureCount of the message. others_wait: see Evidence.
        def about(id, history, now, others_wait: false)
          @lock.synchronize do
            before, after = *neighbours(id)
            Evidence.new(
              others_wait:, isolated: isolated?(id), before:, after:, recent: recent(now),
              since: since(id),
              here: !@success.nil? && @success > history.since, failing: @failing,
              stuck_for: @failing.positive? ? now - @failing_since : 0.0,
              elsewhere: since_failing,
              failing_elsewhere: failing_elsewhere(id, last_of_all.to_f, now),
              stuck_elsewhere: stuck_elsewhere(id, now),
              fresh: fresh?(id, history, now), asked: asked?(now)
            )
          end
        end

        # Another process is to take this one's place. Returns false if that was asked for already.
        def ask_for_successor(now)
          @lock.synchronize do
            next false if asked?(now)

            @asked_at = now
            @own&.ask_for_successor(now)
            true
          end
        end

        def inspect = "#<Skep::Kafka::Failure::TopicEvidence failing=#{@failing}>"

        private

        # known: false if it failed among several messages.
        def remember(id, known)
          @known[id] = known
          @known.shift if @known.size > REMEMBERED
        end

        def fails(now)
          if @failing.zero?
            @failing_since = now
            @elsewhere = counts_elsewhere
          end
          @failing += 1
        end

        def fails_alone(id)
          @firsts << First.new(id, @successes)
          @firsts.shift if @firsts.size > RECENT
        end

        def others
          return @others unless @records

          now = OS.now
          if now - @read_at >= @read_every
            @others = @records.others(@kind)
            @read_at = now
          end
          @others
        end

        def counts_elsewhere = [others.sum(&:successes), others.sum(&:failed)]

        # (The counts of a process are gone once its cells are used again.)
        def since_counts(before, now)
          before ? now.zip(before).map { |to, from| [to - from, 0].max } : [0, 0]
        end

        # What others have done since this process fails. (What they did a moment before may not have
        # been read then: it counts only once something has succeeded that began afterwards.)
        def since_failing
          return [0, 0] unless @failing.positive? && last_elsewhere > @failing_since

          since_counts(@elsewhere, counts_elsewhere)
        end

        def last_elsewhere = others.map(&:succeeded_at).max.to_f
        def last_of_all = [@success, *others.map(&:succeeded_at)].compact.select(&:positive?).max

        # Messages that fail for the first time near that one, and successes there.
        def neighbours(id)
          index = @firsts.index { |one| one.id == id } or return [[0, 0], [0, 0]]
          at = @firsts[index].successes
          earlier = @firsts[0...index].count { |one| at - one.successes <= NEAR }
          later = @firsts.drop(index + 1).count { |one| one.successes - at <= NEAR }
          [[[at, NEAR].min, earlier], [[@successes - at, NEAR].min, later]]
        end

        def recent(now)
          @lately.shift while @lately.any? && @lately.first.last <= now - LATELY
          @lately.size
        end

        def since(id)
          first = @firsts.find { |one| one.id == id }
          first ? @successes - first.successes : 0
        end

        def isolated?(id)
          first = @firsts.find { |one| one.id == id } or return false

          @successes - first.successes >= APART && @firsts.none? do |one|
            !one.equal?(first) && (one.successes - first.successes).abs < APART
          end
        end

        # How many messages have failed first here, if nothing has succeeded anywhere since.
        def failing_since(time) = @failing.positive? && @failing_since > time ? @failing : 0

        # A message that another process has tried before this one is counted here.
        def failing_elsewhere(id, time, now)
          active = others.select { |one| one.failed_at > now - ACTIVE && one.failing_since > time }
          active.sum do |one|
            tried = one.failing.positive? && one.ids.last(one.failing).include?(id)
            one.failing - (tried ? 1 : 0)
          end
        end

        def stuck_elsewhere(id, now)
          others.count do |one|
            one.failing.positive? && one.failed_at > now - ACTIVE &&
              one.failing_since < now - STUCK && one.ids.last(one.failing) != [id]
          end
        end

        def fresh?(id, history, now)
          return true if history.restored? || !@replaceable
          return true if @asked_at && now - @asked_at > NO_SUCCESSOR

          last = last_of_all.to_f
          others.any? { |one| one.asked_at > last || one.ids.include?(id) }
        end

        def asked?(now) = @asked_at && now - @asked_at <= NO_SUCCESSOR ? true : false
      end
    end
  end
end
