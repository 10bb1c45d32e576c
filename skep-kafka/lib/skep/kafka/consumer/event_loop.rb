# frozen_string_literal: true

# Polls librdkafka on a background thread while handlers run, so that a slow handler never exceeds
# max.poll.interval.ms. The thread turns an OS::EventLoop. It handles rebalances
# (RebalanceListener), reports errors and log lines, notices that a topic was deleted and created
# again (TopicRecreation) or that a partition is stalled (StallMonitor), and ends the membership: at
# the stop, or shortly before the node is killed. LeavePolicy says whether and when.
#
#   event_loop = EventLoop.new(options:, node:, report:, consumer:, scheduler:, metrics:, lease:)
#   event_loop.start
#   event_loop.failure      # the error with which the node is to end, or nil
#   event_loop.await_other_nodes   # where the whole swarm stops: commits, and waits a moment
#   event_loop.stop         # ends the thread
#   event_loop.leave        # commits what is done and leaves the group
#
# Which thread commits offsets when is listed above Completion (processing/completion.rb).
#
# A handler that hangs is found by the supervisor, from its missing heartbeats.
module Skep
  module Kafka
    class Consumer
      class EventLoop
        LEAVE_SECONDS = 10.0
        COMMIT_SECONDS = 5.0 # for the last commit
        RETRY_SECONDS = 0.25
        OTHERS_SECONDS = 2.0 # for the other nodes of a swarm that stops
        UNSETTLED = [*Librdkafka::ErrorCode::REBALANCING,
                     *(Librdkafka::ErrorCode::UNAVAILABLE - Librdkafka::ErrorCode::CONNECTION)].freeze
        # Commits that end so leave no group to leave.
        GONE = [*Librdkafka::ErrorCode::CONNECTION, Librdkafka::ErrorCode::UNKNOWN_MEMBER_ID].freeze
        STILL_RUNNING = "a handler still runs shortly before stop_timeout"
        EARLY = "Other members get this node's partitions now. Raise stop_timeout, or let the " \
                "handler end sooner"
        # What librdkafka says of a topic that doesn't exist, with its name.
        TOPIC_MISSING = /\ASubscribed topic not available: (.+?): /
        NOT_LEFT = "no broker has answered, so this node couldn't leave its group"
        SESSION = "Other members get its partitions when its session ends (session.timeout.ms)"
        REJOIN = "The node joins its group again, so that the group assigns the topics again"
        NO_TOKEN = "The source's oauth: returns no token. skep calls it again after 10 s"
        private_constant :LEAVE_SECONDS, :COMMIT_SECONDS, :RETRY_SECONDS, :OTHERS_SECONDS,
                         :UNSETTLED, :GONE, :STILL_RUNNING, :EARLY, :TOPIC_MISSING, :NOT_LEFT,
                         :SESSION, :REJOIN, :NO_TOKEN

        attr_reader :failure

        def initialize(options:, node:, report:, consumer:, scheduler:, metrics:, lease:)
          @options, @node, @report = options, node, report
          @consumer, @scheduler, @metrics, @lease = consumer, scheduler, metrics, lease
          @loop = OS::EventLoop.new
          @broker_outage = BrokerOutage.new(loop: @loop, options:, consumer:, report:, metrics:,
                                            changed: method(:outage_changed))
          @topic_recreation = TopicRecreation.new(consumer)
          @progress = MemberProgress.for(options, node:, consumer:, report:,
                                                  topic_recreation: @topic_recreation)
          @offset_committer = scheduler.offset_committer
          @fetch_errors = FetchErrors.new(settings: options.settings, consumer:, report:)
          @subscription_check = SubscriptionCheck.for(options, node:, consumer:)
          @stall_monitor = StallMonitor.for(options, consumer:, scheduler:, metrics:, report:)
          @leave_policy = LeavePolicy.new(
            node:, consumer:, leave_on_stop: options.leave_on_stop
          )
          @rebalance_listener = RebalanceListener.new(
            options:, node:, report:, consumer:, scheduler:, metrics:, lease:,
            broker_outage: @broker_outage, leave_policy: @leave_policy,
            fetch_errors: @fetch_errors, topic_recreation: @topic_recreation, progress: @progress
          )
          @stopping = Librdkafka::WakeupPipe.new
          @missing = [] # topics that were reported as missing, until they are assigned
        end

        def start
          @thread = Threads::Background.new("kafka.event_loop") { run }
        end

        def stop
          @stopping.wake
          @thread.close
          @stopped = true
          [@broker_outage, @loop, @stopping, @topic_recreation, @fetch_errors, @leave_policy,
           *@stall_monitor, *@subscription_check, @rebalance_listener].each(&:close)
        end

        # Before `stop`, where the whole swarm stops: commits what is done and waits a moment for
        # the other nodes to do the same. The first member that leaves begins a rebalance, in which
        # a broker may refuse the commits of the others.
        def await_other_nodes
          return if !@node.__others_to_await? || @leave_policy.keeps_place? || @failure
          return if @broker_outage.suspected? || @leave_policy.done?

          commit_early unless @options.transactional # its transactions have committed
          @node.__await_other_nodes(seconds_for_others) unless GONE.include?(@early_code)
        end

        # Commits what is done and ends the membership, after `stop`. Returns false if the consumer
        # must be abandoned: without a broker, or after a fatal error, librdkafka would need a
        # session timeout to close.
        def leave
          return false if @consumer.fatal

          code = commit_last
          return false if @consumer.fatal

          @progress&.close if [0, Librdkafka::ErrorCode::NO_OFFSET].include?(code)
          left = !GONE.include?(code) && leave_group
          report_not_left unless left || code == Librdkafka::ErrorCode::UNKNOWN_MEMBER_ID
          left
        ensure
          @rebalance_listener.close # of partitions that were assigned meanwhile
        end

        # Commits what is done, after `stop`. Returns the error code. There is no group to leave
        # (GONE) if no broker answered, or if the group doesn't know this member any more, as
        # librdkafka may never finish leaving while it joins again. An outage counts once it is
        # certain: librdkafka may report that all brokers are down after one is back.
        def commit_last = last_code.tap { |code| @rebalance_listener.report_commit(code) }

        private

        # Takes at most half of the time that a stopping node has left, but a second at least: a
        # broker may have gone since the last commit, and what follows needs time as well.
        def leave_group
          seconds = @node.time_left&./(2) || LEAVE_SECONDS
          deadline = OS.now + seconds.clamp(1.0, LEAVE_SECONDS)
          if @consumer.static_member? && !@leave_policy.keeps_place?
            return false unless leave_for_good(deadline - OS.now)
          end
          @leaving = true
          @consumer.leave([deadline - OS.now, 0].max) { |event| handle(event) }
        end

        def report_not_left
          return if !@node.stopping? || @leave_policy.keeps_place?

          @report.event(:kafka_leave_failed, level: :warn, group: @options.group, error: NOT_LEFT,
                                             hint: SESSION)
        end

        # No worker is left: what is done doesn't change any more.
        def commit_early
          seconds = [COMMIT_SECONDS, *@node.time_left&./(3)].min
          @early_code = @node.busy(for: seconds + 2) do
            @consumer.commit(@scheduler.committable_offsets, seconds)
          end
        end

        def seconds_for_others
          [OTHERS_SECONDS, *@node.time_left&./(2), *@leave_policy.seconds_left].min
        end

        # The code of the early commit if that is final, or of another one.
        def last_code
          return @early_code if GONE.include?(@early_code)
          return 0 if @early_code&.zero? && !@broker_outage.suspected?

          @broker_outage.certain? ? Librdkafka::ErrorCode::ALL_BROKERS_DOWN : commit_settled
        end

        def run
          @loop.watch(@stopping.io) { @ended = true }
          @loop.watch(@consumer.control.io) { handle_events }
          poll
          attend_to_all
          turn until @ended
        rescue Exception => e # the main thread raises it
          end_node(e)
        end

        # After a decision to end the node it goes on, so that the node stays a member until its
        # handlers have ended.
        def turn
          @loop.turn
          @lease.renew unless @broker_outage.suspected?
          @progress&.member_seen unless @broker_outage.suspected? || @lease.doubtful?
        rescue NodeStalled, TopicRecreated => e
          end_node(e)
          handle_events
        end

        # The main thread raises the error.
        def end_node(error)
          @failure ||= error
          @scheduler.wakeup_pipe.wake
        end

        def attend_to_all
          @look_to_leave = attend_to(@leave_policy) { leave_early if @leave_policy.due? }
          attend_to(@fetch_errors) { @fetch_errors.retry_due(@scheduler.readers) }
          if @offset_committer
            attend_to(@offset_committer) { @offset_committer.commit_due(@scheduler) }
          end
          attend_to(@topic_recreation) do
            topics_recreated(@topic_recreation.recreated)
            query_topic_ids if @topic_recreation.due?
          end
          if @subscription_check
            @check_subscription = attend_to(@subscription_check) { rejoin_with_other_topics }
          end
          return unless @stall_monitor

          @look_for_stalls = attend_to(@stall_monitor) do
            @stall_monitor.tick(outage: @broker_outage.suspected?)
          end
        end

        # Calls the block now, whenever the part's io is readable, and after its `seconds_left`.
        # Returns a callable that does the same at once.
        def attend_to(part)
          timer = nil
          look = lambda do |*|
            timer&.cancel
            yield
            timer = part.seconds_left&.then { |seconds| @loop.after(seconds, &look) }
          end
          @loop.watch(part.io, &look)
          look.call
          look
        end

        # Without any event the queue is polled often enough to stay a member, and the lease is
        # renewed. (The stop of a node may have become that of the swarm, with `leave_on_stop`.)
        def poll
          handle_events
          @look_to_leave&.call
          @loop.after([@options.settings.max_poll_interval / 3, @lease.limit / 2].min) { poll }
        end

        def handle_events = @consumer.control.drain { |event| handle(event) }

        # A client that knows the old topic can't read the new one reliably: librdkafka (2.16, too)
        # ignores metadata whose leader epoch is lower than the one it knows, as that of a new topic
        # is, which begins with 0.
        def topics_recreated(topics)
          keys = @scheduler.keys.select { |topic, _| topics.include?(topic) }
          return if keys.empty?

          @rebalance_listener.topics_recreated(keys)
          raise TopicRecreated.new(topics:)
        end

        # Called on the thread, and on the main thread once that has ended.
        def handle(event)
          case event.kind
          when :rebalance then rebalance(event)
          when :error then error(event) unless @stopped # then the node ends anyway
          when :log then @report.log(event)
          when :stats then statistics(Metrics::ClientStatistics.new(event.statistics))
          when :commit
            return if @leaving && @early_code&.zero? # librdkafka's own, of the same offsets

            committed(event)
          end
        end

        def committed(event)
          refused = @consumer.forgo_metadata(event)
          @offset_committer&.answered(event.list.to_a)
          return @scheduler.store_again if refused

          query_topic_ids if event.code.zero? || @rebalance_listener.report_commit(event.code)
        end

        def statistics(statistics)
          @metrics.statistics = statistics
          @stall_monitor&.statistics = statistics
          @look_for_stalls&.call unless @stopped
        end

        def rebalance(event)
          unsubscribed = leave_out_unsubscribed(event.list)
          return @rebalance_listener.partitions_released(event.list) if @leaving

          unless event.code == Librdkafka::ErrorCode::ASSIGN_PARTITIONS
            return @rebalance_listener.partitions_revoked(event.list)
          end

          @lease.confirm
          @missing -= event.list.keys.map(&:first)
          @rebalance_listener.partitions_assigned(event.list)
          query_topic_ids
          @subscription_check&.start(unsubscribed)
          @check_subscription&.call unless @stopped
        end

        # A static member may get what it subscribed to in its former life (SubscriptionCheck), for
        # which it has no handler any more. Returns those topics.
        def leave_out_unsubscribed(list)
          return [] if @options.patterns? || !@consumer.static_member?

          others = list.keys.reject { |topic, _| @options.topics.include?(topic) }
          others.each { |key| list.delete(*key) }.map(&:first).uniq
        end

        def rejoin_with_other_topics
          found = @subscription_check.difference
          return if found.nil? || @node.stopping?

          @report.event(:kafka_topics_changed, group: @options.group, **found, hint: REJOIN)
          @consumer.rejoin(@options.topics)
        end

        def query_topic_ids
          @topic_recreation.query(@scheduler.keys.map(&:first).uniq)
        end

        # A rebalance may follow an outage at once, so what is done is committed first.
        def outage_changed
          @look_for_stalls&.call
          return if @broker_outage.suspected?

          @lease.confirm if @rebalance_listener.commit
        end

        # What is in progress is processed again by another node, as it would be after the kill.
        def leave_early
          seconds = @leave_policy.begin_leave
          @report.event(:kafka_left_group, level: :warn, error: STILL_RUNNING, hint: EARLY)
          @rebalance_listener.abandon
          leave_for_good(seconds)
        end

        def leave_for_good(seconds)
          @consumer.leave_for_good(seconds) { |event| handle(event) }
        end

        def error(event)
          fatal_error(event) if event.fatal?
          refused = event.code == Librdkafka::ErrorCode::GROUP_AUTHORIZATION_FAILED
          raise refused(event) if refused && !@rebalance_listener.joined?

          advice = event.no_token? ? NO_TOKEN : AuthorizationError.advice(event.code)
          return @report.error(event, name: :kafka_unauthorized, hint: advice) if advice

          return if @broker_outage.take_error(event)

          missing = event.text[TOPIC_MISSING, 1]
          missing ? topic_missing(missing) : @report.error(event)
        end

        # librdkafka says it again whenever the topic, or another one of a pattern, was deleted. Of
        # a topic that only matched a pattern nobody expects that it comes back.
        def topic_missing(topic)
          return if @missing.include?(topic) || !@options.topics.include?(topic)

          @missing << topic
          @report.event(:kafka_topic_missing, level: :warn, topic: @report.clean(topic),
                                              hint: "skep waits until the topic is created")
        end

        # librdkafka commits nothing any more after a fatal error.
        def fatal_error(event)
          error = @consumer.fatal || FatalClientError.new(code: event.name, text: event.text)
          without_partitions = @rebalance_listener.without_partitions?
          @rebalance_listener.partitions_lost
          raise error unless without_partitions && error.is_a?(InstanceIdTaken)

          # The group had removed this member before. The member that has its group.instance.id now
          # is most likely this one, after it joined again.
          raise MemberFenced.new(name: error.name, group: @options.group, cause: error.why)
        end

        # A group that rebalances refuses commits, and so does a broker that is no longer its
        # coordinator. Events are handled meanwhile, so that this member joins the next generation.
        def commit_settled
          deadline = OS.now + [COMMIT_SECONDS, *@node.time_left&./(3)].min
          Kernel.loop do
            code = @rebalance_listener.try_commit(deadline)
            left = deadline - OS.now
            return code unless UNSETTLED.include?(code) && left.positive?

            @consumer.control.wait([left, RETRY_SECONDS].min) { |event| handle(event) }
          end
        end

        def refused(event)
          AuthorizationError.new(what: :group, name: @options.group,
                                 cause: @report.clean(event.text),
                                 brokers: @options.settings.brokers)
        end
      end
    end
  end
end
