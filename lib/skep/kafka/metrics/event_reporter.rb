# frozen_string_literal: true

# Tells the supervisor what librdkafka says: log lines and errors, without secrets and without a
# flood. The same thing is told once a minute at most, then with how often it was said.
#
#   report = EventReporter.new(child, settings)
#   report.log(event)
#   report.error(event)
#   report.tell(:kafka_lost, level: :warn, brokers: "…")
module Skep
  module Kafka
    module Metrics
      class EventReporter
        QUIET = 60.0 # seconds for which a repetition is only counted
        MANY = 1_000 # different things to remember
        TOLD_TWICE = %w[FAIL ERROR].freeze # log lines of what comes as an error event as well
        LEVELS = %i[error error error error warn info info debug].freeze # of syslog's 0 to 7
        private_constant :MANY, :TOLD_TWICE, :LEVELS

        #: (Child, Config::ClientConfig, ?clock: ^() -> Float) -> void
        def initialize(child, settings, clock: OS.method(:now))
          @clock = clock
          @child = child
          @settings = settings
          @said = {}
          @lock = Mutex.new
        end

        def log(event) #: (Librdkafka::EventQueue::Event) -> void
          level, facility, text = event.log
          return if TOLD_TWICE.include?(facility)

          repeated = worth([facility, text.to_s.gsub(/\d+/, "#")]) or return
          tell(:kafka_log, level: LEVELS.fetch(level, :debug), facility:,
                           message: clean(text.to_s), **repeated)
        end

        def error(event, **facts) #: (Librdkafka::EventQueue::Event, **untyped) -> void
          problem(event.name, event.text, **facts)
        end

        #: (String, String, **untyped) -> void
        def problem(code, text, name: :kafka_error, level: :error, **facts)
          repeated = worth([name, code, text.gsub(/\d+/, "#")]) or return
          tell(name, level:, code:, message: clean(text), **facts, **repeated)
        end

        #: (Symbol, ?level: Symbol, **untyped) -> void
        def tell(name, level: :info, **facts) = @child.event(name, level:, **facts)

        # What a partition couldn't read.
        #: (Processing::AssignedPartition, Integer, String) -> void
        def unreadable(partition, code, text)
          advice = AuthorizationError.advice(code)
          facts = advice ? { name: :kafka_refused, note: advice } : {}
          problem(Librdkafka::Bindings.err2name(code), text, topic: partition.topic, partition: partition.number,
                                               **facts)
        end

        # What befell a batch.
        #: (Symbol, Batch, Exception, **untyped) -> void
        def failed(name, batch, error, **facts)
          tell(name, level: :error, **batch.place, error: clean(ErrorText.of(error)), **facts)
        end

        def clean(text) = @settings.redact(text) #: (String) -> String

        private

        # Facts to add if it is to be said now, else nil.
        def worth(key)
          @lock.synchronize do
            now = @clock.call
            since, count = @said.fetch(key, [-QUIET, 0])
            again = now - since < QUIET
            @said.clear if @said.size > MANY
            @said[key] = again ? [since, count + 1] : [now, 0]
            next if again

            count.zero? ? {} : { repeated: count }
          end
        end
      end
    end
  end
end
