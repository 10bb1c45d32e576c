# frozen_string_literal: true

# Checks, before a node is ready, that a broker answers and that this user may read the topics as
# this group.
#
#   StartupCheck.new(options, node, consumer, report).call   # => true; false at a stop
#
# Raises BrokerUnreachable if no broker answers in time, AuthorizationError if one refuses. With
# connect_timeout: nil a node that finds no broker is ready without one and waits for ever, as it
# does in a later outage. A topic may be missing: another program may create it. EventLoop logs it.
module Skep
  module Kafka
    class Consumer
      class StartupCheck
        GROUP_SECONDS = 5.0 # a cluster that has never had a group needs a moment for its first
        # With connect_timeout: nil, until a node is ready though no broker has answered or refused
        # the connection.
        SILENT_SECONDS = 15.0
        BOOT_SHARE = 0.8 # of what is left of boot_timeout, so that the error is reported before it
        TOPIC_REFUSED = Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED
        GROUP_REFUSED = Librdkafka::ErrorCode::GROUP_AUTHORIZATION_FAILED
        private_constant :GROUP_SECONDS, :SILENT_SECONDS, :BOOT_SHARE,
                         :TOPIC_REFUSED, :GROUP_REFUSED

        def initialize(options, node, consumer, report)
          @options = options
          @node = node
          @consumer = consumer
          @report = report
          @answers = consumer.queue
          @query = Librdkafka::MetadataQuery.new(consumer, options.topics)
        end

        def call
          topics = query_topics or return false
          topics.each do |name, (code, _)|
            raise refused(:topic, name, code) if code == TOPIC_REFUSED
          end
          readable, = topics.find { |_, (code, partitions)| code.zero? && partitions.positive? }
          readable ? check_group(readable) : true
        ensure
          @query.close
          @answers.close
        end

        private

        # { name => [error code, partitions] }
        def query_topics
          @query.start
          @limit = limit
          answer = await(@query.io, @limit) { @query.answer }
          return answer if answer || @node.stopping?
          raise unreachable if @options.connect_timeout

          @node.ready!
          await(@query.io, nil) { @query.answer }
        end

        # Returns for how many seconds it waits for a broker. A node that boot_timeout ends couldn't
        # say that a broker was missing.
        def limit
          boot = @node.__boot_time_left&.*(BOOT_SHARE)
          [@options.connect_timeout || SILENT_SECONDS, *boot].min
        end

        def check_group(topic)
          Librdkafka::AdminRequests.group_offsets(@consumer, @answers, @options.group, [[topic, 0]],
                                                   Librdkafka::AdminRequests::NO_TIMEOUT)
          code = await(@answers.io, GROUP_SECONDS) { group_answer }
          raise refused(:group, @options.group, code) if code == GROUP_REFUSED

          !@node.stopping?
        end

        def group_answer
          code = nil
          @answers.drain { |event| code = Librdkafka::AdminRequests.group_offsets_error(event) }
          code
        end

        # Returns what the block returns, once that isn't nil. Returns nil after so many seconds
        # (nil: never), or if the node is to stop.
        def await(io, seconds)
          deadline = seconds && (OS.now + seconds)
          until @node.stopping?
            @consumer.control.drain { |event| handle(event) }
            answer = yield
            left = deadline && (deadline - OS.now)
            return answer if answer || left&.negative?

            @node.wait_for([@consumer.control.io, io], left)
          end
        end

        def handle(event)
          return @report.log(event) if event.kind == :log
          return unless event.kind == :error

          login = Librdkafka::ErrorCode::LOGIN.include?(event.code)
          raise refused(:login, nil, event.code, event.text) if login && !event.no_token?

          connection = Librdkafka::ErrorCode::CONNECTION.include?(event.code)
          return @report.error(event) unless connection || login

          unreachable_broker(event)
        end

        # Reports the first failure, and keeps the last specific cause for the final error.
        def unreachable_broker(event)
          all_down = event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN
          @node.ready! if all_down && !@options.connect_timeout
          text = @report.clean(event.text)
          @cause = text unless @cause && all_down
          return if @reported

          @reported = true
          @report.event(:kafka_unreachable, level: :warn, brokers:, error: text,
                                           hint: patience)
        end

        def patience
          return "skep waits until a broker answers" unless @options.connect_timeout

          "skep keeps trying for #{seconds} s"
        end

        def unreachable
          patience = @limit < @options.connect_timeout ? "boot_timeout" : "connect_timeout"
          BrokerUnreachable.new(brokers:, seconds:, cause: @cause, patience:)
        end

        def seconds
          @limit < @options.connect_timeout ? @limit.round(1) : @options.connect_timeout
        end

        def refused(what, name, code, text = Librdkafka::Bindings.err2str(code))
          AuthorizationError.new(what:, name:, brokers:, cause: @report.clean(text))
        end

        def brokers = @options.settings.brokers
      end
    end
  end
end
