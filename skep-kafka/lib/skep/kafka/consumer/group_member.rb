# frozen_string_literal: true

# One membership of a node in its consumer group: checks the cluster, joins, processes messages
# until the node is to stop, finishes what is in progress, commits, waits for the other nodes where
# the whole swarm stops (EventLoop#await_other_nodes), and leaves.
#
#   GroupMember.run(options, node, handler)
#
# If another member takes its group.instance.id (InstanceIdTaken), it joins again without an id.
#
# With one thread the handler runs on the calling thread. With more it runs on worker threads, each
# with a work item of its own. The event loop polls librdkafka beside them.
module Skep
  module Kafka
    class Consumer
      class GroupMember
        # What processes a member's messages; `build` connects it.
        Pipeline = Struct.new(:scheduler, :metrics, :workers, keyword_init: true)

        class << self
          # Returns when the node is to stop and what was in progress is done. A node whose
          # group.instance.id another member has taken continues as a dynamic member: taking it back
          # would make two members fence each other for ever.
          def run(options, node, handler)
            DatabaseOffsets.check if options.offsets == :database
            report = Metrics::EventReporter.new(node, options.settings)
            join_as = :configured
            metrics = nil
            while join_as
              member = new(options:, node:, handler:, report:, former_metrics: metrics,
                           dynamic: join_as == :dynamic)
              join_as = member.run
              metrics = member.metrics || metrics
              join_as = nil if node.stopping?
            end
          end

          # Connects the objects that process messages. Testing gives it a consumer, outputs and a
          # dead letter queue that need no cluster, and has one worker whatever the options say.
          def build(options:, node:, report:, consumer:, lease:, outputs:, dead_letter_queue:,
                    handler:, threads: options.threads)
            topic_queue = Processing::TopicQueue.new(options) if options.several?
            unless options.transactional # a transaction commits its offsets itself
              offset_store = consumer
              offset_committer = OffsetCommitter.new(consumer, interval: options.commit_interval,
                                                               by_key: options.by_key?)
            end
            scheduler = Processing::Scheduler.new(offset_store:, report:, topic_queue:,
                                                  offset_committer:)
            present = options.all.to_h { |one| [one, Failure::PresentFailures.new(report)] }
                             .compare_by_identity
            metrics = Metrics::ConsumerMetrics.new(node:, scheduler:, consumer:,
                                                   group: options.group, present: present.values)
            if options.offsets == :database
              database_offsets = DatabaseOffsets.new(options.group, consumer, report)
            end
            exclusive_lock = Threads::SharedExclusiveLock.new
            evidence = evidence(options, node)
            numbers = threads == 1 ? [0] : (1..threads) # 0 is the node's own thread
            workers = numbers.map do |thread|
              Processing::Worker.new(handler, thread:, options:, node:, report:, consumer:, lease:,
                                              scheduler:, metrics:, outputs:, dead_letter_queue:,
                                              exclusive_lock:, evidence:, present:,
                                              database_offsets:)
            end
            Pipeline.new(scheduler:, metrics:, workers:)
          end

          private

          # TopicEvidence by the options of each topic. Further topics have no record.
          def evidence(options, node)
            records = node.__handler_records
            options.all.each_with_index.to_h do |one, index|
              kind = Zlib.crc32([options.group, *options.topics, index].join("/")) + 1
              own = records if index < Swarm::IPC::Scoreboard::Layout::RECORDS
              [one, Failure::TopicEvidence.new(own, kind, replaceable: !records.nil?,
                                                          longest_wait: one.retry_backoff_max)]
            end.compare_by_identity
          end
        end

        attr_reader :metrics # nil before it has joined

        # dynamic: joins without a group.instance.id, whatever its settings say. former_metrics: of
        # an earlier membership of this process, whose counts these continue.
        def initialize(options:, node:, handler:, report:, dynamic:, former_metrics: nil)
          @options, @node, @handler, @report, @dynamic = options, node, handler, report, dynamic
          @former_metrics = former_metrics
          @threads = []
        end

        # Returns nil at the stop, or how the node is to join again: as a :dynamic member, or as
        # :configured.
        def run
          take_part
          nil
        rescue InstanceIdTaken => e
          @report.event(:kafka_instance_id_taken, level: :error, group: @options.group,
                                                  name: e.name, error: e.message)
          :dynamic
        rescue MemberFenced => e
          @report.event(:kafka_member_fenced, level: :warn, group: @options.group, name: e.name,
                                              error: e.message)
          :configured
        end

        def inspect = "#<Skep::Kafka::Consumer::GroupMember of #{@options.group}>"

        private

        def take_part
          @consumer = connect
          return unless StartupCheck.new(@options, @node, @consumer, @report).call

          @node.ready!
          return unless @node.wait_for_predecessor

          set_up
          join
          process
          processed = true
        ensure
          errors = @event_loop ? leave : []
          @consumer&.close
          raise errors.first if processed && errors.any? # otherwise one is on its way already
        end

        # Settings that contradict each other, or name a file that isn't there, show only here.
        def connect
          Consumer.new(settings)
        rescue LibrdkafkaError => e
          raise unless e.code == Librdkafka::ErrorCode::INVALID_ARG

          raise ConfigurationError.new(sentences: [@report.clean("kafka: #{e.message}")])
        end

        def settings
          @options.member_settings(@node.swarm, @node.id, nameless: @dynamic)
        end

        def set_up
          common = { options: @options, node: @node, report: @report, consumer: @consumer }
          lease = Processing::MembershipLease.new(@options.settings.session_timeout / 2)
          @outputs = Producer::HandlerProducers.new(**common)
          if @options.all.any?(&:dead_letter_topic)
            @dead_letter_queue = Failure::DeadLetterQueue.new(@options.settings, @node)
          end
          pipeline = GroupMember.build(**common, lease:, outputs: @outputs, handler: @handler,
                                                 dead_letter_queue: @dead_letter_queue)
          @scheduler, @metrics, @workers = *pipeline
          @metrics.continue(@former_metrics) if @former_metrics
          @event_loop = EventLoop.new(**common, lease:, scheduler: @scheduler, metrics: @metrics)
        end

        def join
          @event_loop.start
          @metrics.start
          return unless @outputs.init_transactions

          @consumer.subscribe(@options.topics)
          return if @workers.one?

          @threads = @workers.map.with_index(1) { |worker, number| start(worker, number) }
        end

        def start(worker, number)
          Threads::Background.new("kafka.worker.#{number}") do
            worker.run
          rescue Exception => e # SystemExit, NoMemoryError …: the main thread raises it
            @failure = e
            @scheduler.wakeup_pipe.wake
          end
        end

        # A quiet node stays in the group and begins no further batch, until it resumes.
        def process
          failure = -> { @failure || @event_loop.failure }
          until @node.stopping?
            @scheduler.hand_out
            @workers.first.run_until_quiet(@node, failure:) if @threads.empty?
            @scheduler.supply(@node, failure:) until @node.quiet?
            @scheduler.withhold
            @scheduler.supply(@node, failure:) while @node.quiet? && !@node.stopping?
          end
          @scheduler.close
        end

        # Takes all of these steps, whatever one of them raises: without the last commit, messages
        # would be delivered again, and without the leave, partitions would wait for the session's
        # end. Returns what was raised.
        #
        # A consumer that can't be closed in time is abandoned to the end of the process. After its
        # group.instance.id was taken it is closed: the node continues with another consumer.
        def leave
          errors = []
          step(errors) { @scheduler.close }
          [*@threads, @outputs, @metrics].each { |one| step(errors) { one.close } }
          step(errors) { @event_loop.await_other_nodes }
          step(errors) { @event_loop.stop }
          step(errors) { @left = @event_loop.leave }
          step(errors) { @dead_letter_queue&.close }
          [@metrics, @scheduler].each { |one| step(errors) { one.clear } }
          step(errors) { @consumer.abandon unless @left || instance_id_taken? }
          errors
        end

        def step(errors)
          yield
        rescue Exception => e # raised again at the end
          errors << e
          error = @report.clean(Metrics::EventReporter.describe(e))
          @report.event(:kafka_stop_failed, level: :error, group: @options.group, error:)
        end

        def instance_id_taken? = @consumer.fatal.is_a?(InstanceIdTaken)
      end
    end
  end
end
