# frozen_string_literal: true

# One node's life as a member of the group: boots, joins, works until it is to stop, finishes and
# leaves.
#
#   GroupMember.new(options, child, handler).run
#
# With one thread the handler runs on the thread that called; with more, on that many workers, each
# with a partition of its own in hand. The keeper serves the group beside them all.
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
          leave if @keeper
          @consumer&.close
        end

        def settings
          @options.settings.for_member("#{@child.swarm}-#{Socket.gethostname}", @child.id,
                                       group: @options.group, commit_every: @options.commit_every,
                                       nameless: @nameless, patterns: @options.patterns?)
        end

        def tools
          tools = Processing::Tools.new(options: @options, child: @child, report: @report, consumer: @consumer,
                            desk: @desk = Processing::Scheduler.new(&@report.method(:unreadable)), gate: Processing::SharedExclusiveLock.new,
                            dead_letter: @dead_letter = dead_letter, leeway: Processing::Leeway.new,
                            lease: Processing::MembershipLease.new(@options.settings.session_timeout / 2))
          @meter = tools.meter = Metrics::ConsumerMetrics.new(tools)
          @outputs = tools.outputs = Producer::HandlerProducers.new(tools)
          tools
        end

        def join
          tools = self.tools
          alone = @options.threads == 1
          @workers = Array.new(@options.threads) do |index|
            Processing::Worker.new(tools, @handler, thread: alone ? 0 : index + 1)
          end
          @keeper = EventLoop.new(tools).tap(&:start)
          @meter.start
          return unless @outputs.open

          @consumer.subscribe(@options.topics)
          @threads = @workers.each.with_index(1).map { |*worker| start(*worker) } unless alone
        end

        def dead_letter = @options.dead_letter && Failure::DeadLetterQueue.new(@options, @child)

        def start(worker, number)
          Threads::Background.new("kafka.worker.#{number}") do
            while (strand = worker.take)
              worker.work(strand)
            end
          rescue Exception => e # SystemExit, NoMemoryError …: the main thread raises it
            @failure = e
            @desk.bell.ring
          end
        end

        # Once quiet, it keeps its place in the group and takes nothing new.
        def work
          turn until @child.quiet?
          @desk.close
          until @child.stopping?
            look
            wait(nil)
          end
        end

        def turn
          look
          strand = @workers.first.take(wait: false) if @threads.empty?
          strand ? @workers.first.work(strand) : wait(@desk.next_deadline)
        end

        def look
          @desk.listen
          failure = @failure || @keeper.failure
          raise failure if failure
        end

        def wait(deadline)
          @child.wait_for([@desk.bell.io], deadline && [deadline - OS.now, 0].max)
        end

        # Where nobody answers, or librdkafka has given up, a proper end would take a session's
        # time: then the client is left to the end of the process.
        def leave
          wind_up
          left = well? && @keeper.commit_last && well? && part
        ensure
          @dead_letter&.close
          @meter.clear
          @desk.clear
          @consumer.abandon unless left || @consumer.fatal.is_a?(InstanceIdTaken)
        end

        # Has librdkafka not given up?
        def well? = @consumer.fatal.nil?

        def wind_up
          @desk.close
          [*@threads, @outputs, @meter].each(&:close)
          @keeper.stop
        end

        # Its partitions wait for whoever comes by its name, unless nobody will.
        def part
          if @child.for_good? && @consumer.stays?
            @consumer.withdraw(LEAVE_SECONDS) { |event|
 event.kind == :error || @keeper.hear(event) }
          end
          @consumer.leave(LEAVE_SECONDS) { |event| @keeper.hear_last(event) }
        end
      end
    end
  end
end
