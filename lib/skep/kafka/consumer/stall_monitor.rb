# frozen_string_literal: true

# Finds partitions that stand still although they have messages, and members that don't get through
# joining; reports and cures them. It asks the brokers where partitions end that wait for messages,
# which also keeps their lag right. StallDetector decides; the event loop calls this.
#
#   monitor = StallMonitor.new(options:, consumer:, scheduler:, metrics:, report:, detector:)
#   monitor.io                 # readable when brokers have answered
#   monitor.seconds_left       # until `look` must be called
#   monitor.look(outage: false)   # may raise ClientStalled or NodeStalled
#   monitor.statistics = client_statistics
#   monitor.close
#
# Before anything is called a stall, librdkafka's statistics are asked: what it has fetched and not
# delivered (aborted messages, the marks of transactions) is no message.
module Skep
  module Kafka
    class Consumer
      class StallMonitor
        # Looks in each stall_timeout, while no partition is behind; more if that would be less
        # than one in 30 s (SECONDS).
        LOOKS = 2
        SECONDS = (0.05..30.0).freeze # minimum and maximum between two such looks
        WITHOUT = 1.05 # after so many intervals without statistics, it looks anyway
        LATE = 2.0 # an answer, or a look, that is so many seconds late is ignored
        FRESH = 2.0 # seconds in which a partition that gets messages may still seem to wait
        FETCH_WAIT = "fetch.wait.max.ms" # for which a broker may answer nothing else
        SEEK_SECONDS = 1.0
        # librdkafka's states of a member that has asked for an assignment and waits for it.
        JOINING = %w[wait-join wait-sync].freeze
        ERROR = "the partition has messages, and none comes"
        JOIN_ERROR = "the member has asked for an assignment, and gets none"
        HINTS = { seek: "skep fetches again from this offset",
                  new_client: "skep replaces this node's Kafka client",
                  new_node: "skep replaces this node" }.freeze
        private_constant :LOOKS, :SECONDS, :WITHOUT, :LATE, :FRESH, :FETCH_WAIT, :SEEK_SECONDS,
                         :JOINING, :ERROR, :JOIN_ERROR, :HINTS

        # Returns a detector for a node's memberships; nil without `stall_timeout`.
        def self.detector(options)
          timeout = options.stall_timeout or return
          settings = options.settings
          start = settings.reset_place unless settings["auto.offset.reset"] == "error"
          StallDetector.new(timeout, join_timeout: settings.max_poll_interval + timeout, start:)
        end

        def initialize(options:, consumer:, scheduler:, metrics:, report:, detector:,
                       clock: OS.method(:now))
          @consumer, @scheduler, @metrics, @report = consumer, scheduler, metrics, report
          @detector, @clock = detector, clock
          @group = options.group
          @late = LATE + (options.settings[FETCH_WAIT].to_i / 1000.0)
          @committed = options.settings["isolation.level"] != "read_uncommitted"
          @interval = (options.stall_timeout / LOOKS.to_f).clamp(SECONDS)
          @fresh = [options.stall_timeout / 6.0, FRESH].min
          @answers = consumer.queue
          @next_at = @clock.call + @interval
        end

        def io = @answers.io

        def seconds_left = [@next_at - @clock.call, 0].max

        # A look that is due soon is due now: the thread is awake.
        def statistics=(statistics)
          @statistics = statistics
          now = @clock.call
          @next_at = [@next_at, now].min if @next_at - now < @interval / 2
        end

        # outage: no broker answers.
        def look(outage:)
          now = @clock.call
          @detector.restart(now) if outage || now - @next_at > LATE
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
          return unless found

          late = @clock.call - @asked_at > @late
          @asked_at = nil
          found = found.select { |_, _, offset, code| code.zero? && offset >= 0 }
          ends = found.to_h { |topic, number, offset, _| [[topic, number], offset] }
          @metrics.ends_found(ends)
          late ? {} : ends
        end

        def judge(ends, now)
          observe(now)
          stalls = @detector.stalls(ends, now)
          report_ended
          stalls.reject { |stall| fetched?(stall, now) }.each { |stall| cure(stall, now) }
          @next_at = now + [@interval, *@detector.seconds_left(now)].min
        end

        def ask(now)
          @next_at = now + (@interval * WITHOUT)
          joining(now)
          observe(now)
          report_ended
          forget_request if @asked_at && now - @asked_at > @late
          keys = @detector.waiting.select { |key| leader_up?(*key) }
          return if @asked_at || keys.empty?

          @asked_at = now
          Librdkafka::AdminRequests.end_offsets(
            @consumer, @answers, keys, Librdkafka::AdminRequests::NO_TIMEOUT, committed: @committed
          )
        end

        def observe(now)
          waiting = @scheduler.awaiting_messages(within: @fresh) or return @detector.unobserved(now)
          @detector.observe(waiting.transform_values(&:next_offset), @scheduler.keys, now)
        end

        # librdkafka has fetched all of the partition, and what it doesn't deliver is no message.
        def fetched?(stall, now)
          seen = seen(*stall.key)
          offset = seen["next_offset"].to_i
          return false unless offset >= stall.end_offset && seen["fetchq_cnt"].to_i.zero?

          @detector.fetched(stall.key, offset, now)
          true
        end

        # The answer waits for all leaders, also for one that went away since. (A request that
        # librdkafka times out may abort the process, in 2.11.)
        def forget_request
          @answers.close
          @answers = @consumer.queue
          @asked_at = nil
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

        def cure(stall, now)
          topic, partition = stall.key
          seen = seen(topic, partition)
          report(stall, ERROR, topic:, partition:, offset: stall.offset,
                               lag: stall.end_offset - stall.offset.to_i,
                               fetch_state: seen["fetch_state"], fetch_offset: seen["next_offset"],
                               queued: seen["fetchq_cnt"], leader: seen["leader"])
          @metrics.stalled(topic, partition) if stall.cure == :seek
          @detector.tried(stall, now)
          stall.cure == :seek ? seek(stall.key) : replace(stall)
        end

        def report(stall, error, **facts)
          @report.event(:kafka_stalled, level: :warn, **facts, duration: stall.seconds.round(1),
                                        cure: stall.cure, error:, hint: HINTS.fetch(stall.cure))
        end

        # Something in this process may have paused the partition, so it is resumed first.
        def seek(key)
          reader = @scheduler.awaiting_messages(within: @fresh).to_h[key] or return
          @consumer.resume(*key)
          reader.refetch { |offset| @consumer.seek([[*key, offset]], SEEK_SECONDS) }
        rescue LibrdkafkaError => e # the next cure follows
          topic, partition = key
          @report.problem("seek", e.message, topic:, partition:)
        end

        def replace(stall)
          what = stall.key ? "the partition #{stall.key.join("/")}" : "the group #{@group}"
          stalled = stall.cure == :new_node ? NodeStalled : ClientStalled
          raise stalled.new(what:, seconds: stall.seconds.round(1))
        end

        def joining(now)
          state = @statistics&.join_state or return
          stall = @detector.join_stall(JOINING.include?(state), now) or return
          report(stall, JOIN_ERROR, group: @group, join_state: state)
          replace(stall)
        end

        def report_ended
          @detector.take_ended.each do |stall|
            topic, partition = stall.key
            @report.event(:kafka_stall_ended, topic:, partition:, offset: stall.offset,
                                              duration: stall.seconds.round(1), cure: stall.cure)
          end
        end
      end
    end
  end
end
