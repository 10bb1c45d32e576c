# frozen_string_literal: true

# Finds partitions that are stalled, and members that get no assignment. It reports them and ends
# the node, whose successor begins with a new client. It asks the brokers where partitions end that
# wait for messages, which also keeps their lag right. StallDetector decides; the event loop calls
# this.
#
#   monitor = StallMonitor.for(options, consumer:, scheduler:, metrics:, report:)
#   monitor.io                 # readable when brokers have answered
#   monitor.seconds_left       # until `tick` must be called
#   monitor.tick(outage: false)   # may raise NodeStalled
#   monitor.statistics = client_statistics
#   monitor.close
#
# Before anything is called a stall, librdkafka's statistics are asked: what it has fetched and not
# delivered (aborted messages, the marks of transactions) is no message.
module Skep
  module Kafka
    class Consumer
      class StallMonitor
        # Requests in each stall_timeout, while no partition is behind; more if that would be less
        # than one in 30 s (SECONDS).
        REQUESTS = 2
        SECONDS = (0.05..30.0).freeze # minimum and maximum between two such requests
        WITHOUT = 1.05 # after so many intervals without statistics, it asks anyway
        LATE = 2.0 # an answer, or a tick, that is so many seconds late is ignored
        FRESH = 2.0 # seconds in which a partition that gets messages may still seem to wait
        FETCH_WAIT = "fetch.wait.max.ms" # for which a broker may answer nothing else
        # librdkafka's states of a member that has asked for an assignment and waits for it.
        JOINING = %w[wait-join wait-sync].freeze
        ERROR = "the partition has messages, and none comes"
        JOIN_ERROR = "the member has asked for an assignment, and gets none"
        HINT = "skep replaces this node"
        private_constant :REQUESTS, :SECONDS, :WITHOUT, :LATE, :FRESH, :FETCH_WAIT, :JOINING,
                         :ERROR, :JOIN_ERROR, :HINT

        # Returns nil without `stall_timeout`.
        def self.for(options, **objects) = (new(options, **objects) if options.stall_timeout)

        def initialize(options, consumer:, scheduler:, metrics:, report:, clock: OS.method(:now))
          @consumer, @scheduler, @metrics, @report = consumer, scheduler, metrics, report
          @clock, @group, settings = clock, options.group, options.settings
          start = settings.reset_place unless settings["auto.offset.reset"] == "error"
          @detector = StallDetector.new(options.stall_timeout, start:)
          @join_timeout = settings.max_poll_interval + options.stall_timeout
          @late = LATE + (settings[FETCH_WAIT].to_i / 1000.0)
          @committed = settings["isolation.level"] != "read_uncommitted"
          @timeout = options.stall_timeout
          @interval = (options.stall_timeout / REQUESTS.to_f).clamp(SECONDS)
          @fresh = [options.stall_timeout / 6.0, FRESH].min
          @answers = consumer.queue
          @next_at = @clock.call + @interval
        end

        def io = @answers.io

        # Nil once a stall was found: the node ends.
        def seconds_left = ([@next_at - @clock.call, 0].max unless @ended)

        # A tick that is due soon is due now: the thread is awake.
        def statistics=(statistics)
          @statistics = statistics
          now = @clock.call
          @next_at = [@next_at, now].min if @next_at - now < @interval / 2
        end

        # outage: no broker answers.
        def tick(outage:)
          return if @ended

          now = @clock.call
          restart(now) if outage || now - @next_at > LATE
          ends = answer
          judge(ends, now) if ends && @statistics && !outage
          ask(now) if @next_at <= now
        end

        # Sends no further request.
        def close = @answers.close

        def inspect = "#<Skep::Kafka::Consumer::StallMonitor every #{@interval} s>"

        private

        # Returns what brokers have answered; nil if there is no answer.
        def answer
          found = nil
          @answers.drain { |event| found = Librdkafka::AdminRequests.end_offsets_in(event) }
          return unless found && @asked_at

          late = @clock.call - @asked_at > @late
          @asked_at = nil
          found = found.select { |_, _, offset, code| code.zero? && offset >= 0 }
          ends = found.to_h { |topic, number, offset, _| [[topic, number], offset] }
          @metrics.ends_found(ends)
          late ? {} : ends
        end

        def judge(ends, now)
          observe(now)
          stalls = @detector.stalls(ends, now).reject { |stall| fetched?(stall, now) }
          show_stalling(ends, now)
          stalls.each { |stall| report(stall) }
          stalls.first&.then do |stall|
            replace_node("the partition #{stall.key.join("/")}", stall.seconds)
          end
          @next_at = now + [@interval, *@detector.seconds_left(now)].min
        end

        # The status shows what may become a stall before that is certain.
        def show_stalling(ends, now)
          behind = @detector.behind(ends, now, @timeout / 2.0).reject { |one| fetched?(one, now) }
          return if behind.empty? && !@stalling

          @stalling = behind.any?
          @metrics.stalling(behind.to_h { |one| [one.key, now - one.seconds] })
        end

        def ask(now)
          @next_at = now + (@interval * WITHOUT)
          observe_joining(now)
          observe(now)
          # The answer waits for all leaders, also for one that went away since. (A request that
          # librdkafka times out may abort the process, in 2.11.)
          @asked_at = nil if @asked_at && now - @asked_at > @late
          keys = @detector.waiting.select { |key| leader_up?(*key) }
          return if @asked_at || keys.empty?

          @asked_at = now
          Librdkafka::AdminRequests.end_offsets(
            @consumer, @answers, keys, Librdkafka::AdminRequests::NO_TIMEOUT, committed: @committed
          )
        end

        def observe(now)
          waiting = @scheduler.awaiting_messages(within: @fresh) or return @detector.unobserved(now)
          @detector.observe(waiting.transform_values(&:next_offset), now)
        end

        # librdkafka has fetched all of the partition, and what it doesn't deliver is no message.
        def fetched?(stall, now)
          seen = seen(*stall.key)
          offset = seen["next_offset"].to_i
          return false unless offset >= stall.end_offset && seen["fetchq_cnt"].to_i.zero?

          @detector.fetched(stall.key, offset, now)
          true
        end

        # A leader that is away would keep the others' answers back.
        def leader_up?(topic, number)
          leader = seen(topic, number)["leader"]
          return true if leader.nil?

          leader >= 0 && @statistics.up?(leader)
        end

        # Returns what librdkafka's last statistics say of a partition.
        def seen(topic, number)
          @statistics ? @statistics.partition(topic, number) : {}
        end

        def report(stall)
          topic, partition = stall.key
          seen = seen(topic, partition)
          @metrics.stalled(topic, partition)
          report_stall(stall.seconds, ERROR,
                       topic:, partition:, offset: stall.offset,
                       lag: stall.end_offset - stall.offset.to_i,
                       fetch_state: seen["fetch_state"], fetch_offset: seen["next_offset"],
                       queued: seen["fetchq_cnt"], leader: seen["leader"])
        end

        # A member that has asked for an assignment gets one at the end of a rebalance, which waits
        # for no member longer than max.poll.interval.ms.
        def observe_joining(now)
          state = @statistics&.join_state
          return @joining_since = nil unless JOINING.include?(state)

          seconds = now - (@joining_since ||= now)
          return if seconds < @join_timeout

          report_stall(seconds, JOIN_ERROR, group: @group, join_state: state)
          replace_node("the group #{@group}", seconds)
        end

        def report_stall(seconds, error, **facts)
          @report.event(:kafka_stalled, level: :warn, **facts, duration: seconds.round(1), error:,
                                        hint: HINT)
        end

        def replace_node(what, seconds)
          @ended = true
          raise NodeStalled.new(what:, seconds: seconds.round(1))
        end

        # What came before doesn't count.
        def restart(now)
          @joining_since = nil
          @detector.restart(now)
        end
      end
    end
  end
end
