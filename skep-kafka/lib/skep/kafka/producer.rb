# frozen_string_literal: true

# Writes messages from any number of threads, and reports the delivery of each.
#
#   producer = Skep::Kafka::Producer.new({ "bootstrap.servers": "kafka-1:9092" }, node:)
#   producer.produce("orders", "payload", key: "k", headers: { "trace" => "1" })
#                                                            # => a DeliveryHandle
#   producer.produce_sync("orders", "payload", timeout: 5)   # => a DeliveryReport; DeliveryFailed
#   producer.flush(10)                                       # => how many are still in flight
#   producer.close                                           # else when the process exits
#
# Handlers of a Kafka source use `node.producer` (HandlerProducer), which HandlerProducers#close
# flushes at the node's stop. This class is for everything else. Make a producer after the fork, in
# the process that uses it. A forked child can't use its parent's producer, and its exit doesn't
# touch it. The producer is idempotent and waits for all in-sync replicas, unless the settings say
# otherwise.
#
# A message that isn't delivered, and whose handle no caller waits for, is reported to the swarm of
# `node:` (the event `kafka_delivery_failed`), or on stderr without `node:`.
module Skep
  module Kafka
    class Producer
      # Shared by the producers: checks the arguments of `produce`, and `produce_sync`.
      module ProduceMethods
        TOPIC = /\A[^\0]{1,249}\z/ # the brokers check the characters
        PARTITIONS = (..(2**31) - 1)
        TIMESTAMPS = (-(2**63)..(2**63) - 1) # milliseconds
        SERIALIZERS = { json: ->(value, _headers) { JSON.generate(value) } }.freeze
        private_constant :TOPIC, :PARTITIONS, :TIMESTAMPS, :SERIALIZERS

        # Returns the callable for `serializer:`, nil for nil.
        def self.serializer(given)
          return given if given.nil? || given.respond_to?(:call)

          SERIALIZERS.fetch(given) do
            reject("serializer", given, ":json, or a callable that takes a value and headers")
          end
        end

        # Raises ArgumentError for arguments that would crash librdkafka, or that it would
        # misinterpret.
        def self.check(topic, payload, key, partition, headers = nil)
          reject("topic", topic, "a topic's name") unless TOPIC.match?(topic)
          reject("payload", payload, "a String, or nil") unless text?(payload)
          reject("key", key, "a String, or nil") unless text?(key)
          check_headers(headers) if headers
          return if partition.nil? || (partition.is_a?(Integer) && PARTITIONS.cover?(partition))

          reject("partition", partition, "a partition's number")
        end

        # Returns the milliseconds of a Time, or of an Integer that has them.
        def self.milliseconds(time)
          return if time.nil?

          milliseconds = time.is_a?(Time) ? (time.to_r * 1000).floor : time
          return milliseconds if milliseconds.is_a?(Integer) && TIMESTAMPS.cover?(milliseconds)

          reject("timestamp", time, "a Time, or milliseconds since 1970")
        end

        def self.check_headers(headers)
          reject("headers", headers, "a Hash") unless headers.respond_to?(:each)
          headers.each do |name, value|
            valid = name.is_a?(String) || name.is_a?(Symbol)
            reject("headers", name, "names that are Strings or Symbols") unless valid
            next if text?(value) || (value.is_a?(Array) && value.all? { |item| text?(item) })

            reject("header #{name}", value, "a String, nil, or an Array of those")
          end
        end

        def self.reject(name, value, expected)
          actual = value.inspect
          actual = "#{value.class}: #{actual[0, 40]}…" if actual.size > 50
          raise ArgumentError, "#{name} must be #{expected} (got #{actual})"
        end

        def self.text?(value) = value.nil? || value.is_a?(String)
        private_class_method :check_headers, :reject, :text?

        # Adds a message to librdkafka's buffer; waits while the buffer is full. Any thread may call
        # it. Raises DeliveryFailed for a message that can't be sent, such as one larger than your
        # `message.max.bytes`.
        #
        # payload: a String or nil; with a serializer, what that takes. headers: names and values. A
        # value is a String, nil, or an Array of those, which is written as a repeated header; in a
        # span of OpenTelemetry, its `traceparent` is added. partition: its number, chosen by the
        # key otherwise; timestamp: a Time, or milliseconds since 1970 (of which librdkafka takes 0
        # for now, and brokers -1 for none).
        def produce(topic, payload = nil, key: nil, headers: nil, partition: nil, timestamp: nil)
          headers = Metrics::Tracing.inject(headers)
          __produce(topic, serialize(payload, headers), key:, headers:, partition:, timestamp:)
        end

        # Produces a message and waits for its delivery. Returns a DeliveryReport, or raises
        # DeliveryFailed.
        def produce_sync(topic, payload = nil, timeout: nil, **more)
          produce(topic, payload, **more).wait(timeout:)
        end

        private

        # Returns the payload that the serializer makes of a value. nil is a tombstone.
        def serialize(value, headers)
          value.nil? || @serializer.nil? ? value : @serializer.call(value, headers || {})
        end
      end

      include ProduceMethods

      # The brokers decide how large a message may be.
      DEFAULTS = { "enable.idempotence" => "true", "client.id" => "skep",
                   "message.max.bytes" => "1000000000" }.freeze
      LINGER_SETTINGS = %w[linger.ms queue.buffering.max.ms].freeze # two names of one setting
      SHORT_LINGER = 5.0 # milliseconds, librdkafka's default: a wait needs no flush
      FULL_SECONDS = 1.0
      PURGE_SECONDS = 1.0
      CLOSE_SECONDS = 30
      STOP_SECONDS = 10.0 # that a producer of a stopping node waits for room
      CLOSED = "the producer is closed"
      NO_ROOM = "the producer's buffer is full, and the node is stopping"
      private_constant :DEFAULTS, :SHORT_LINGER, :FULL_SECONDS, :PURGE_SECONDS, :CLOSE_SECONDS,
                       :STOP_SECONDS, :CLOSED, :NO_ROOM

      class << self
        # A producer that is part of a node, whose event loop reports unreachable brokers.
        def __for_node(settings, report)
          allocate.tap { |producer| producer.send(:start, settings, report, network_errors: false) }
        end

        # The settings of librdkafka: skep's defaults and the user's settings over them.
        def __settings(config)
          given = config.producer
          acks = given["acks"] || given["request.required.acks"]
          DEFAULTS.merge({ "enable.idempotence" => [nil, "all", "-1"].include?(acks).to_s }, given)
        end
      end

      # kafka: librdkafka's settings; node: reports failures to its swarm; serializer: :json, or
      # called with what is to be produced and the headers, returns the payload. Raises
      # ConfigurationError for invalid settings.
      def initialize(kafka, node: nil, serializer: nil)
        @serializer = ProduceMethods.serializer(serializer)
        @node = node if node.respond_to?(:stopping?)
        config = Config::ClientConfig.new(kafka)
        raise ConfigurationError.new(sentences: config.errors) if config.errors.any?

        report = Metrics::EventReporter.new(node || StderrEvents, config)
        start(config, report, network_errors: true)
      end

      # claimed: the caller checks the delivery, so a failure isn't reported. node: it is `busy`
      # while the buffer is full, so that its node isn't considered hung.
      def __produce(topic, payload, key: nil, headers: nil, partition: nil, timestamp: nil,
                    claimed: false, node: nil)
        check_process
        ProduceMethods.check(topic.to_s, payload, key, partition, headers)
        handle = DeliveryHandle.new(topic.to_s, @in_flight, claimed:)
        enqueue(handle, payload, node, key:, headers:, partition:,
                                        timestamp: ProduceMethods.milliseconds(timestamp))
      end

      def __client = @client

      # Sends what is in the buffer, without waiting for `linger.ms`, and waits up to `seconds`
      # until all of it is acknowledged; not what other threads produce meanwhile. Returns how many
      # messages are not.
      def flush(seconds)
        check_process
        @in_flight.flush(seconds).tap { @failures.report }
      end

      # Flushes for up to `timeout` seconds, then closes the client. Reports messages that couldn't
      # be delivered. If another thread is closing the producer, waits until it is closed.
      def close(timeout: CLOSE_SECONDS)
        return unless own_process?

        @closing.synchronize { finish(timeout) unless @wake.closed? }
      rescue ThreadError # in a signal handler, where Ruby lets no thread wait for a lock
        Thread.new { close(timeout:) }.join(timeout + PURGE_SECONDS)
      end

      def delivered = @in_flight.delivered # since the producer was made
      def failed = @in_flight.failed # since the producer was made
      def waiting = @in_flight.size # messages in flight
      def closed? = @closed ? true : false # it takes no message any more

      # Returns the fatal error of the client, or nil.
      def fatal = closed? ? @fatal : @client.fatal

      def inspect
        state = own_process? ? "#{waiting} in flight" : "of another process"
        "#<Skep::Kafka::Producer #{closed? ? "closed" : state}>"
      end

      private

      def start(config, report, network_errors:)
        settings = Producer.__settings(config)
        @report, @network_errors = report, network_errors
        @client = Librdkafka::ProducerClient.new(settings)
        @failures = DeliveryFailures.new { |facts| report_failure(facts) }
        lingers = settings.slice(*LINGER_SETTINGS).values.any? { |ms| ms.to_f > SHORT_LINGER }
        @in_flight = InFlightMessages.new(*(@client if lingers)) { |handle| @failures.add(handle) }
        @generation = OS::Generation.count
        @closing = Mutex.new
        @wake, @waker = OS.pipe
        @thread = Threads::Background.new("kafka.producer", restart: :never) { poll }
        OpenProducers.add(self)
      end

      def own_process? = @generation == OS::Generation.count
      def check_process = own_process? || raise(ForkedProducer)

      def enqueue(handle, payload, node, key: nil, **more)
        Kernel.loop do
          code = @in_flight.add(handle) do |tag|
            @client.put(handle.topic, key, payload, tag:, **more)
          end
          return handle if code&.zero?
          raise refusal(handle.topic, code) unless code == Librdkafka::ErrorCode::QUEUE_FULL

          check_stop(node, handle.topic)
          node ? node.busy(for: FULL_SECONDS * 5) { await_room } : await_room
        end
      end

      # A stopping node doesn't wait for room for ever.
      def check_stop(node, topic)
        node ||= @node
        return unless node&.stopping?

        @stop_at ||= OS.now + [STOP_SECONDS, (node.time_left || STOP_SECONDS) / 2].min
        raise DeliveryFailed.new(topic:, cause: NO_ROOM) if OS.now >= @stop_at
      end

      def await_room
        before = @in_flight.acknowledged
        @in_flight.flush_until(FULL_SECONDS) do
          @in_flight.acknowledged != before || @in_flight.empty? || closed?
        end
      end

      def refusal(topic, code)
        return DeliveryFailed.new(topic:, cause: CLOSED) unless code

        DeliveryFailed.new(topic:, code:, cause: (fatal || Librdkafka::Bindings.err2str(code)).to_s)
      end

      def finish(seconds)
        OpenProducers.delete(self)
        flush(seconds)
        @fatal = @client.fatal
        @in_flight.close
        @closed = true
        purge
        @waker.close
        @thread.close
        @in_flight.release_client
        @client.close
        @wake.close
      end

      # librdkafka reports the messages that are still in flight as failed.
      def purge
        return if @in_flight.empty?

        @client.purge
        @in_flight.wait(PURGE_SECONDS) { @in_flight.empty? }
        @failures.report
      end

      # Runs on the producer's own thread: handles delivery reports, log lines and errors.
      def poll
        Kernel.loop do
          @client.control.drain { |event| handle(event) }
          readable, = IO.select([@client.control.io, @wake])
          break if readable.include?(@wake)
        end
      end

      def handle(event)
        case event.kind
        when :delivery then @in_flight.acknowledge(event.deliveries)
        when :log then @report.log(event)
        when :error
          network = Librdkafka::ErrorCode::CONNECTION.include?(event.code)
          @report.error(event) if @network_errors || !network
        end
      end

      def report_failure(facts) = @report.event(:kafka_delivery_failed, level: :error, **facts)

      # Reports messages that weren't delivered and that no caller claims: the first at once,
      # further failures within INTERVAL as a count.
      class DeliveryFailures
        INTERVAL = 10.0 # seconds
        private_constant :INTERVAL

        def initialize(&reporter)
          @reporter = reporter
          @lock = Mutex.new
          @counts = Hash.new(0)
          @reported_at = -Float::INFINITY
        end

        def add(handle)
          @lock.synchronize { @counts[[handle.topic, handle.error.why]] += 1 }
          report if OS.now - @reported_at >= INTERVAL
        end

        # Reports the failures that have been counted since the last report.
        def report
          counts = @lock.synchronize do
            @reported_at = OS.now
            @counts.dup.tap { @counts.clear }
          end
          counts.each { |(topic, error), count| @reporter.call({ topic:, error:, count: }) }
        end
      end

      # Replaces a node for a producer that has none: writes warnings and errors to stderr.
      module StderrEvents
        LEVELS = %i[warn error].freeze
        private_constant :LEVELS

        def self.event(name, level: :info, **facts)
          return unless LEVELS.include?(level)

          warn("skep: #{name} #{facts.map { |key, value| "#{key}=#{value}" }.join(" ")}")
        end
      end

      # The producers of this process that aren't closed: closes them when the process exits. They
      # have SECONDS together to deliver what is in flight. A process that is killed, or calls
      # exit!, closes none.
      module OpenProducers
        SECONDS = 5.0
        private_constant :SECONDS

        @all = {}.compare_by_identity
        @lock = Mutex.new

        class << self
          def add(producer)
            @lock.synchronize do
              at_exit { close } unless @registered
              @registered = @all[producer] = true
            end
          end

          def delete(producer)
            @lock.synchronize { @all.delete(producer) }
          end

          private

          # Runs in a forked child, too; closing a producer of the parent does nothing there.
          def close
            deadline = OS.now + SECONDS
            @all.keys.each { |producer| producer.close(timeout: [deadline - OS.now, 0].max) }
          end
        end
      end
      private_constant :DeliveryFailures, :StderrEvents, :OpenProducers
    end
  end
end
