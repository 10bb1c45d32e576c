# frozen_string_literal: true

# Writes messages, from as many threads as like, and says what became of each.
#
#   producer = Skep::Kafka::Producer.new({ "bootstrap.servers": "kafka-1:9092" }, child:)
#   producer.produce("orders", "payload", key: "k", headers: { "trace" => "1" })   # => a DeliveryHandle
#   producer.produce_sync("orders", "payload", timeout: 5)   # => its DeliveryReport, or raises DeliveryFailed
#   producer.flush(10)                                       # => how many are still on their way
#   producer.close                                           # else at the process' exit
#
# Handlers of a Kafka source have one, `child.producer`: this is for everybody else. It is made
# after the fork, in the process that uses it; a forked child can't use its parent's, and never
# touches it. Idempotent, and acknowledged by all replicas, unless the settings say otherwise.
#
# What isn't delivered and isn't asked about is told to the child's swarm (`kafka_not_delivered`),
# without `child:` on stderr.
module Skep
  module Kafka
    class Producer
      include ProduceMethods

      # How large a message may be is the broker's to say.
      DEFAULTS = { "enable.idempotence" => "true", "client.id" => "skep",
                   "message.max.bytes" => "1000000000" }.freeze
      FULL_SECONDS = 1.0
      PURGE_SECONDS = 1.0
      CLOSE_SECONDS = 30
      CLOSED = "the producer is closed"
      private_constant :DEFAULTS, :FULL_SECONDS, :PURGE_SECONDS, :CLOSE_SECONDS, :CLOSED

      # librdkafka's settings; child: whose swarm is told of what fails. Raises ConfigurationError
      # for settings that can't be.
      #: (Hash[untyped, untyped], ?child: untyped) -> void
      def initialize(kafka, child: nil, __settings: nil, __report: nil)
        settings = __settings || Producer.checked(Config::ClientConfig.new(kafka))
        @known = !__report.nil? # somebody else tells when brokers are out of reach
        @report = __report || Metrics::EventReporter.new(child || StderrEvents, settings)
        @undelivered = DeliveryFailures.new { |facts| tell(facts) }
        @in_flight = InFlightMessages.new { |delivery| @undelivered.add(delivery) }
        start(Producer.settings(settings))
      end

      #: (Config::ClientConfig) -> Config::ClientConfig, those, or ConfigurationError is raised
      def self.checked(settings)
        return settings if settings.errors.empty?

        raise ConfigurationError.new(sentences: settings.errors)
      end

      # With what a producer of skep's has beside the user's settings.
      def self.settings(settings) #: (Config::ClientConfig) -> Hash[String, String]
        given = settings.producer
        acks = given["acks"] || given["request.required.acks"]
        DEFAULTS.merge({ "enable.idempotence" => [nil, "all", "-1"].include?(acks).to_s }, given)
      end

      # Puts a message into the buffer, waiting for room in it. Raises DeliveryFailed for one that
      # can't be sent at all, such as one larger than a `message.max.bytes` of yours.
      #
      # headers: names and values. A value is a String, nil, or an Array of those, which is written
      # as a repeated header. partition: its number, chosen by the key otherwise; timestamp: a
      # Time, or milliseconds since 1970.
      #
      #: (String, String?, ?key: String?, ?headers: Hash[untyped, untyped]?, ?partition: Integer?,
      #:   ?timestamp: Time | Integer | nil) -> DeliveryHandle
      def produce(topic, payload = nil, key: nil, headers: nil, partition: nil, timestamp: nil)
        __produce(topic, payload, key:, headers:, partition:, timestamp:)
      end

      # claimed: somebody asks what became of it; the block is given what waits for room, to call.
      def __produce(topic, payload, headers:, timestamp:, claimed: false, **more, &waiting)
        at_home
        delivery = DeliveryHandle.new(topic.to_s, @in_flight, claimed:)
        post(delivery, payload, waiting, headers:, timestamp: milliseconds(timestamp), **more)
      end

      def __sender = @sender #: () -> ProducerClient

      # Sends all there is, whatever `linger.ms` says, and waits so many seconds at most until that
      # has been answered for; not for what other threads produce meanwhile. How many messages of it
      # haven't been.
      def flush(seconds) #: (Numeric) -> Integer
        at_home
        @in_flight.flush(seconds).tap { @undelivered.tell }
      end

      # Flushes, for so many seconds at most, and ends. What couldn't be delivered is told. Another
      # thread that closes it meanwhile returns when that is through.
      def close(timeout: CLOSE_SECONDS) #: (?timeout: Numeric) -> void
        return unless home?

        @ending.synchronize { finish(timeout) unless @wake.closed? }
      end

      def delivered = @in_flight.delivered #: () -> Integer, how many in all
      def failed = @in_flight.failed #: () -> Integer, how many in all
      def waiting = @in_flight.size #: () -> Integer, how many are on their way
      def closed? = @closed ? true : false #: () -> bool, does it take no more?

      # The error librdkafka gave up for, nil while all is well.
      def fatal = closed? ? @fatal : @sender.fatal #: () -> FatalClientError?

      def inspect #: () -> String
        state = home? ? "#{waiting} on their way" : "another process'"
        "#<Skep::Kafka::Producer #{closed? ? "closed" : state}>"
      end

      private

      def start(settings)
        @sender = ProducerClient.new(settings)
        @in_flight.hurry = @hurry = LingerFlush.for(settings, @sender, @in_flight)
        @generation = OS::Generation.count
        @ending = Mutex.new
        @wake, @waker = OS.pipe
        @thread = Threads::Background.new("kafka.producer", restart: :never) { listen }
        OpenProducers.add(self)
      end

      def home? = @generation == OS::Generation.count
      def at_home = home? || raise(ForkedProducer)

      def milliseconds(time)
        time.is_a?(Time) ? (time.to_r * 1000).floor : time
      end

      # Waits for room where there is none; some of what is on its way is answered for sooner or
      # later.
      def post(delivery, payload, waiting, key: nil, **more)
        at_home
        Kernel.loop do
          code = @in_flight.post(delivery) do |tag|
            @sender.put(delivery.topic, key, payload, tag:, **more)
          end
          return delivery if code&.zero?
          raise refusal(delivery.topic, code) unless code == Librdkafka::ErrorCode::QUEUE_FULL

          waiting ? waiting.call(method(:await_room)) : await_room
        end
      end

      def await_room
        before = @in_flight.answered
        @in_flight.hasten(FULL_SECONDS) { @in_flight.answered != before || closed? }
      end

      def refusal(topic, code)
        return DeliveryFailed.new(topic:, cause: CLOSED) unless code

        DeliveryFailed.new(topic:, code:, cause: (fatal || Librdkafka::Bindings.err2str(code)).to_s)
      end

      def finish(seconds)
        OpenProducers.delete(self)
        flush(seconds)
        @fatal = @sender.fatal
        @in_flight.close
        @closed = true
        give_up
        @waker.close
        [@thread, *@hurry].each(&:close)
        @sender.close
        @wake.close
      end

      # What is still here is answered for by that, and told.
      def give_up
        return if @in_flight.empty?

        @sender.purge
        @in_flight.wait(PURGE_SECONDS) { @in_flight.empty? }
        @undelivered.tell
      end

      def listen
        Kernel.loop do
          @sender.control.drain { |event| hear(event) }
          readable, = IO.select([@sender.control.io, @wake])
          break if readable.include?(@wake)
        end
      end

      def hear(event)
        case event.kind
        when :delivery then @in_flight.answer(event.deliveries)
        when :log then @report.log(event)
        when :error
          @report.error(event) unless @known && Librdkafka::ErrorCode::CONNECTION.include?(event.code)
        end
      end

      def tell(facts) = @report.tell(:kafka_not_delivered, level: :error, **facts)
    end
  end
end
