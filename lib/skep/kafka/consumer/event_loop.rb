# frozen_string_literal: true

# Keeps the membership of the group while handlers work: serves the client's queue on a thread of
# its own, lets partitions come and go (RebalanceListener), and tells what librdkafka says.
#
#   event_loop = EventLoop.new(tools)
#   event_loop.start
#   event_loop.failure      # what ended it, if anything did
#   event_loop.stop
#
# Because it serves the queue at all times, a handler or a backoff may take as long as it likes
# without costing the group (max.poll.interval.ms). Whether a handler hangs is the supervisor's to
# judge, by beats.
module Skep
  module Kafka
    class Consumer
      class EventLoop
        attr_reader :failure #: Exception?

        def initialize(tools) #: (Processing::Tools) -> void
          @options, @report, @child = tools.options, tools.report, tools.child
          @consumer, @scheduler, @lease = tools.consumer, tools.scheduler, tools.lease
          @broker_outage = BrokerOutage.new(tools)
          @topic_recreation, @fetch_errors = TopicRecreation.new(@consumer), FetchErrors.new(tools)
          @fetch_wait = @consumer.fetch_wait
          @rebalance_listener = RebalanceListener.new(tools, @fetch_errors)
          @leave_before_kill = LeaveBeforeKill.new(tools, @rebalance_listener)
          @wake, @waker = OS.pipe
        end

        def start #: () -> void
          @thread = Threads::Background.new("kafka.keeper") { serve }
        end

        def stop #: () -> void
          @waker.close
          @thread.close
          @wake.close
          [@broker_outage, @topic_recreation, @fetch_errors, @leave_before_kill].each(&:close)
        end

        # Deals with one event of the client's. Called on the thread, and at the end by whoever
        # closes the client.
        def hear(event) #: (Librdkafka::EventQueue::Event) -> void
          case event.kind
          when :rebalance then rebalance(event)
          when :error then error(event)
          when :log then @report.log(event)
          when :commit then @rebalance_listener.committed(event.code) && ask_who_they_are
          end
        end

        # The same while the client closes: what was done is committed, and all goes at once.
        def hear_last(event) #: (Librdkafka::EventQueue::Event) -> void
          case event.kind
          when :rebalance then @rebalance_listener.give_up_all(event.list)
          when :error then nil # of a client that closes
          else hear(event)
          end
        end

        # Commits what is done, at the end. Returns true if there is a group to leave: not if nobody
        # answered, or if the group doesn't know this member any more, as librdkafka may never
        # finish leaving while it joins again. An outage counts once it is certain: librdkafka may
        # report that all brokers are down after one is back.
        def commit_last #: () -> bool
          code = @broker_outage.certain? ? Librdkafka::ErrorCode::ALL_BROKERS_DOWN : commit_settled
          @rebalance_listener.committed(code)
          ![*Librdkafka::ErrorCode::CONNECTION, Librdkafka::ErrorCode::UNKNOWN_MEMBER_ID].include?(code)
        end

        private

        def serve
          Kernel.loop do
            @consumer.control.drain { |event| hear(event) }
            readable = wait
            @lease.renew unless @broker_outage.now?
            break if readable.include?(@wake)

            look(readable)
          end
        rescue Exception => e # whatever it is, it must not end unseen: the main thread raises it
          @failure = e
          @scheduler.wakeup_pipe.wake
        end

        def wait
          timed = [@broker_outage, @fetch_errors, @leave_before_kill, *@fetch_wait]
          ios = [@consumer.control, @topic_recreation, *timed].filter_map(&:io)
          seconds = [poll_every, @lease.limit / 2, *timed.filter_map(&:seconds_left)].min
          readable, = IO.select([@wake, *ios], nil, nil, seconds)
          readable || []
        end

        def look(readable)
          @fetch_errors.look(@scheduler.readers)
          @fetch_wait&.look
          @leave_before_kill.look { |event| hear(event) }
          readable.include?(@broker_outage.io) ? outage_over : @broker_outage.look
          @rebalance_listener.begin_again(@topic_recreation.found) if readable.include?(@topic_recreation.io)
        end

        # Partitions may go any moment now: what is done is committed first.
        def outage_over
          @broker_outage.over
          @lease.confirm if @rebalance_listener.commit
        end

        # Without any event the queue is served often enough to stay a member.
        def poll_every = @options.settings.max_poll_interval / 3

        def rebalance(event)
          return give_up(event.list) unless event.code == Librdkafka::ErrorCode::ASSIGN_PARTITIONS

          @lease.confirm
          @rebalance_listener.take(event.list)
          ask_who_they_are
        end

        def give_up(list) = @rebalance_listener.give_up(list) { |seconds| await_handlers(seconds) }

        # Waits for a handler's end, no longer than until the early leave is due. False if it is
        # due.
        def await_handlers(seconds)
          left = @leave_before_kill.seconds_left
          return false if left&.zero?

          ios = [@scheduler.released.io, (@leave_before_kill.io unless @child.stopping?)].compact
          IO.select(ios, nil, nil, [seconds, *left].min)
          @scheduler.released.drain
          @lease.renew unless @broker_outage.now?
          true
        end

        def ask_who_they_are = @topic_recreation.ask(@scheduler.keys.map(&:first).uniq)

        def error(event)
          fall(event) if event.fatal?
          raise refused(event) if event.code == Librdkafka::ErrorCode::GROUP_AUTHORIZATION_FAILED && !@rebalance_listener.joined?

          advice = AuthorizationError.advice(event.code)
          return @report.error(event, name: :kafka_refused, note: advice) if advice

          @broker_outage.began(event) || @report.error(event)
        end

        # librdkafka has given up, and will commit nothing more.
        def fall(event)
          error = @consumer.fatal || failed(event)
          away = @rebalance_listener.away?
          @rebalance_listener.lose
          raise away && error.is_a?(InstanceIdTaken) ? itself(error) : error
        end

        # It had lost its place: who has it now is most likely itself.
        def itself(error)
          SelfFenced.new(name: error.name, group: @options.group, cause: error.why)
        end

        # What else is wrong with the cluster isn't looked into any more: nobody would wait for
        # that.
        def commit_settled
          @rebalance_listener.commit_settled do |seconds|
            @consumer.control.wait(seconds) { |event| event.kind == :error || hear(event) }
          end
        end

        def failed(event) = FatalClientError.new(code: event.name, text: event.text)

        def refused(event)
          AuthorizationError.new(what: :group, name: @options.group, cause: @report.clean(event.text),
                      brokers: @options.settings.brokers)
        end
      end
    end
  end
end
