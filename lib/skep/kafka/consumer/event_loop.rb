# frozen_string_literal: true

# Keeps the membership of the group while handlers work: serves the client's queue on a thread of
# its own, lets partitions come and go (RebalanceListener), and tells what librdkafka says.
#
#   keeper = EventLoop.new(tools)
#   keeper.start
#   keeper.failure      # what ended it, if anything did
#   keeper.stop
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
          @consumer, @desk, @lease = tools.consumer, tools.desk, tools.lease
          @outage = BrokerOutage.new(tools)
          @namesakes, @gaps = TopicRecreation.new(@consumer), FetchErrors.new(tools)
          @fetch_wait = @consumer.fetch_wait
          @custody = RebalanceListener.new(tools, @gaps)
          @farewell = LeaveBeforeKill.new(tools, @custody)
          @wake, @waker = OS.pipe
        end

        def start #: () -> void
          @thread = Threads::Background.new("kafka.keeper") { serve }
        end

        def stop #: () -> void
          @waker.close
          @thread.close
          @wake.close
          [@outage, @namesakes, @gaps, @farewell].each(&:close)
        end

        # Deals with one event of the client's. Called on the thread, and at the end by whoever
        # closes the client.
        def hear(event) #: (Librdkafka::Event) -> void
          case event.kind
          when :rebalance then rebalance(event)
          when :error then error(event)
          when :log then @report.log(event)
          when :commit then @custody.committed(event.code) && ask_who_they_are
          end
        end

        # The same while the client closes: what was done is committed, and all goes at once.
        def hear_last(event) #: (Librdkafka::Event) -> void
          case event.kind
          when :rebalance then @custody.give_up_all(event.list)
          when :error then nil # of a client that closes
          else hear(event)
          end
        end

        # Commits what is done, at the end. Returns true if there is a group to leave: not if nobody
        # answered, or if the group doesn't know this member any more, as librdkafka may never
        # finish leaving while it joins again. An outage counts once it is certain: librdkafka may
        # report that all brokers are down after one is back.
        def commit_last #: () -> bool
          code = @outage.certain? ? Librdkafka::ErrorCode::ALL_BROKERS_DOWN : commit_settled
          @custody.committed(code)
          ![*Librdkafka::ErrorCode::NETWORK, Librdkafka::ErrorCode::UNKNOWN_MEMBER].include?(code)
        end

        private

        def serve
          Kernel.loop do
            @consumer.control.drain { |event| hear(event) }
            readable = wait
            @lease.renew unless @outage.now?
            break if readable.include?(@wake)

            look(readable)
          end
        rescue Exception => e # whatever it is, it must not end unseen: the main thread raises it
          @failure = e
          @desk.bell.ring
        end

        def wait
          timed = [@outage, @gaps, @farewell, *@fetch_wait]
          ios = [@consumer.control, @namesakes, *timed].filter_map(&:io)
          seconds = [poll_every, @lease.limit / 2, *timed.filter_map(&:seconds_left)].min
          readable, = IO.select([@wake, *ios], nil, nil, seconds)
          readable || []
        end

        def look(readable)
          @gaps.look(@desk.intakes)
          @fetch_wait&.look
          @farewell.look { |event| hear(event) }
          readable.include?(@outage.io) ? outage_over : @outage.look
          @custody.begin_again(@namesakes.found) if readable.include?(@namesakes.io)
        end

        # Partitions may go any moment now: what is done is committed first.
        def outage_over
          @outage.over
          @lease.confirm if @custody.commit
        end

        # Without any event the queue is served often enough to stay a member.
        def poll_every = @options.settings.max_poll_interval / 3

        def rebalance(event)
          return give_up(event.list) unless event.code == Librdkafka::ErrorCode::ASSIGN

          @lease.confirm
          @custody.take(event.list)
          ask_who_they_are
        end

        def give_up(list) = @custody.give_up(list) { |seconds| await_handlers(seconds) }

        # Waits for a handler's end, no longer than until the farewell is due. False if it is due.
        def await_handlers(seconds)
          left = @farewell.seconds_left
          return false if left&.zero?

          ios = [@desk.released.io, (@farewell.io unless @child.stopping?)].compact
          IO.select(ios, nil, nil, [seconds, *left].min)
          @desk.released.heard
          @lease.renew unless @outage.now?
          true
        end

        def ask_who_they_are = @namesakes.ask(@desk.keys.map(&:first).uniq)

        def error(event)
          fall(event) if event.fatal?
          raise refused(event) if event.code == Librdkafka::ErrorCode::GROUP_REFUSED && !@custody.joined?

          advice = AuthorizationError.advice(event.code)
          return @report.error(event, name: :kafka_refused, note: advice) if advice

          @outage.began(event) || @report.error(event)
        end

        # librdkafka has given up, and will commit nothing more.
        def fall(event)
          error = @consumer.fatal || failed(event)
          away = @custody.away?
          @custody.lose
          raise away && error.is_a?(InstanceIdTaken) ? itself(error) : error
        end

        # It had lost its place: who has it now is most likely itself.
        def itself(error)
          SelfFenced.new(name: error.name, group: @options.group, cause: error.why)
        end

        # What else is wrong with the cluster isn't looked into any more: nobody would wait for
        # that.
        def commit_settled
          @custody.commit_settled do |seconds|
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
