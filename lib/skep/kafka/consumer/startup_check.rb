# frozen_string_literal: true

# From a new client to "able to work": a broker answered, and lets us read the topics as this group.
#
#   StartupCheck.new(options, child, consumer, report).call   # => true when ready, false when it is to stop
#
# Raises BrokerUnreachable when no broker answers in time, AuthorizationError when one says no. With
# connect_timeout: nil a node that finds no broker is ready without one and waits for ever, as it
# does for a broker that goes away later. A topic that doesn't exist yet is told and waited for
# later: another program may make it.
module Skep
  module Kafka
    class Consumer
      class StartupCheck
        GROUP_SECONDS = 5.0 # a cluster that has never had a group needs a moment for its first
        REQUEST_SECONDS = 3600.0 # one that librdkafka itself gives up can abort the process
        # With connect_timeout: nil: until a node is ready all the same, if no broker has refused
        # the connection either.
        SILENT_SECONDS = 15.0
        private_constant :GROUP_SECONDS, :REQUEST_SECONDS, :SILENT_SECONDS

        def initialize(options, child, consumer, report)
          @options = options
          @child = child
          @consumer = consumer
          @report = report
          @answers = consumer.queue
          @topics = MetadataQuery.new(consumer, options.topics)
        end

        def call #: () -> bool
          topics = ask_topics or return false
          topics.each { |name, (code, _)| look_at(name, code) }
          readable, = topics.find { |_, (code, partitions)| code.zero? && partitions.positive? }
          readable ? ask_group(readable) : true
        ensure
          @topics.close
          @answers.close
        end

        private

        # { name => [error code, partitions] }
        def ask_topics
          @topics.start
          answer = await(@topics.io, @options.connect_timeout || SILENT_SECONDS) { @topics.answer }
          return answer if answer || @child.stopping?
          raise unreachable if @options.connect_timeout

          @child.ready!
          await(@topics.io, nil) { @topics.answer }
        end

        def look_at(name, code)
          case code
          when Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED then raise refused(:topic, name, code)
          when Librdkafka::ErrorCode::UNKNOWN_TOPIC_OR_PART
            @report.tell(:kafka_topic_missing, level: :warn, topic: name,
                                               note: "waits until somebody makes this topic")
          end
        end

        def ask_group(topic)
          Admin::AdminRequests.offsets(@consumer, @answers, @options.group, [[topic, 0]],
                                       REQUEST_SECONDS)
          code = await(@answers.io, GROUP_SECONDS) { group_answer }
          raise refused(:group, @options.group, code) if code == Librdkafka::ErrorCode::GROUP_AUTHORIZATION_FAILED

          !@child.stopping?
        end

        def group_answer
          code = nil
          @answers.drain { |event| code = Admin::AdminRequests.offsets_in(event) }
          code
        end

        # What the block makes of the answer; nil after so many seconds (nil: never), or when it is
        # to stop.
        def await(io, seconds)
          deadline = seconds && (OS.now + seconds)
          until @child.stopping?
            @consumer.control.drain { |event| hear(event) }
            answer = yield
            left = deadline && (deadline - OS.now)
            return answer if answer || left&.negative?

            @child.wait_for([@consumer.control.io, io], left)
          end
        end

        def hear(event)
          return @report.log(event) if event.kind == :log
          return unless event.kind == :error
          raise refused(:login, nil, event.code, event.text) if Librdkafka::ErrorCode::LOGIN.include?(event.code)

          Librdkafka::ErrorCode::CONNECTION.include?(event.code) ? unheard(event) : @report.error(event)
        end

        # The first failure is told; the last cause that says something is kept for the sentence at
        # the end.
        def unheard(event)
          @child.ready! if event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN && !@options.connect_timeout
          text = @report.clean(event.text)
          @cause = text unless @cause && event.code == Librdkafka::ErrorCode::ALL_BROKERS_DOWN
          return if @told

          @told = true
          @report.tell(:kafka_unreachable, level: :warn, brokers:, error: text,
                                           note: patience)
        end

        def patience
          limit = @options.connect_timeout
          limit ? "keeps trying for #{limit} s" : "waits until a broker answers"
        end

        def unreachable
          BrokerUnreachable.new(brokers:, seconds: @options.connect_timeout, cause: @cause)
        end

        def refused(what, name, code, text = Librdkafka::Bindings.err2str(code))
          AuthorizationError.new(what:, name:, brokers:, cause: @report.clean(text))
        end

        def brokers = @options.settings.brokers
      end
    end
  end
end
