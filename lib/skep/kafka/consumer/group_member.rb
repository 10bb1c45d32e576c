# frozen_string_literal: true

# One node's life as a member of the group: boots, joins, works until it is to stop, finishes and
# leaves.
#
#   GroupMember.new(options, child, handler).run
#
# With one thread the handler runs on the thread that called; with more, on that many workers, each
# with a partition of its own in hand. The event loop serves the group beside them all.
module Skep
  module Kafka
    class Consumer
      class GroupMember
        LEAVE_SECONDS = 10.0
        private_constant :LEAVE_SECONDS

        # nameless: whatever its settings say.
        #: (Config::SourceOptions, Child, Proc, ?nameless: bool) -> void
        def initialize(options, child, handler, nameless: false)
          @nameless = nameless
          @options = options
          @child = child
          @handler = handler
          @threads = []
        end

        # Returns when the child is to stop and what was in hand is done. Where somebody else has
        # come by its name it goes on without one: taking it back would be answered in kind, for
        # ever.
        def run #: () -> void
          @report = Metrics::EventReporter.new(@child, @options.settings)
          take_part
        rescue InstanceIdTaken => e
          @report.tell(:kafka_name_taken, level: :error, group: @options.group, name: e.name,
                                          error: e.message)
          go_on(nameless: true)
        rescue SelfFenced => e
          @report.tell(:kafka_fenced_itself, level: :warn, group: @options.group, name: e.name,
                                             error: e.message)
          go_on(nameless: false)
        end

        private

        def go_on(nameless:)
          return if @child.stopping?

          GroupMember.new(@options, @child, @handler, nameless:).run
        end

        def take_part
          @consumer = Consumer.new(settings)
          return unless StartupCheck.new(@options, @child, @consumer, @report).call

          @child.ready!
          return unless @child.take_place

          join
          work
        ensure
          leave if @event_loop
          @consumer&.close
        end

        def settings
          @options.settings.consumer("#{@child.swarm}-#{Socket.gethostname}", @child.id,
                                       group: @options.group, commit_every: @options.commit_every,
                                       nameless: @nameless, patterns: @options.patterns?)
        end

        def tools
          tools = Processing::Tools.new(options: @options, child: @child, report: @report, consumer: @consumer,
                            scheduler: @scheduler = Processing::Scheduler.new(&@report.method(:unreadable)), exclusive_lock: Processing::SharedExclusiveLock.new,
                            dead_letter: @dead_letter = dead_letter, leeway: Processing::Leeway.new,
                            lease: Processing::MembershipLease.new(@options.settings.session_timeout / 2))
          @metrics = tools.metrics = Metrics::ConsumerMetrics.new(tools)
          @outputs = tools.outputs = Producer::HandlerProducers.new(tools)
          tools
        end

        def join
          tools = self.tools
          alone = @options.threads == 1
          @workers = Array.new(@options.threads) do |index|
            Processing::Worker.new(tools, @handler, thread: alone ? 0 : index + 1)
          end
          @event_loop = EventLoop.new(tools).tap(&:start)
          @metrics.start
          return unless @outputs.open

          @consumer.subscribe(@options.topics)
          @threads = @workers.each.with_index(1).map { |*worker| start(*worker) } unless alone
        end

        def dead_letter = @options.dead_letter && Failure::DeadLetterQueue.new(@options, @child)

        def start(worker, number)
          Threads::Background.new("kafka.worker.#{number}") do
            while (item = worker.take)
              worker.work(item)
            end
          rescue Exception => e # SystemExit, NoMemoryError …: the main thread raises it
            @failure = e
            @scheduler.wakeup_pipe.wake
          end
        end

        # Once quiet, it keeps its place in the group and takes nothing new.
        def work
          turn until @child.quiet?
          @scheduler.close
          until @child.stopping?
            look
            wait(nil)
          end
        end

        def turn
          look
          item = @workers.first.take(wait: false) if @threads.empty?
          item ? @workers.first.work(item) : wait(@scheduler.next_deadline)
        end

        def look
          @scheduler.listen
          failure = @failure || @event_loop.failure
          raise failure if failure
        end

        def wait(deadline)
          @child.wait_for([@scheduler.wakeup_pipe.io], deadline && [deadline - OS.now, 0].max)
        end

        # Where nobody answers, or librdkafka has given up, a proper end would take a session's
        # time: then the client is left to the end of the process.
        def leave
          wind_up
          left = well? && @event_loop.commit_last && well? && part
        ensure
          @dead_letter&.close
          @metrics.clear
          @scheduler.clear
          @consumer.abandon unless left || @consumer.fatal.is_a?(InstanceIdTaken)
        end

        # Has librdkafka not given up?
        def well? = @consumer.fatal.nil?

        def wind_up
          @scheduler.close
          [*@threads, @outputs, @metrics].each(&:close)
          @event_loop.stop
        end

        # Its partitions wait for whoever comes by its name, unless nobody will.
        def part
          if @child.for_good? && @consumer.stays?
            @consumer.withdraw(LEAVE_SECONDS) { |event|
 event.kind == :error || @event_loop.hear(event) }
          end
          @consumer.leave(LEAVE_SECONDS) { |event| @event_loop.hear_last(event) }
        end
      end
    end
  end
end
