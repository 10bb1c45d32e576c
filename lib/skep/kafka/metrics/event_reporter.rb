# frozen_string_literal: true

# Reports librdkafka's log lines and errors, and skep's own Kafka events, to the supervisor. Removes
# secrets. A repeated error is reported once a minute at most, with the number of repetitions.
#
#   report = EventReporter.new(node, settings)
#   report.log(event)       # a librdkafka event of kind :log
#   report.error(event)     # one of kind :error
#   report.event(:kafka_disconnected, level: :warn, brokers: "…")
module Skep
  module Kafka
    module Metrics
      class EventReporter
        QUIET = 60.0 # seconds in which repetitions are only counted
        MAX_REMEMBERED = 1_000 # different errors
        # Events that concern the messages of one partition: repeated ones are counted for each.
        BY_PARTITION = %i[kafka_unreadable kafka_backpressure not_dead_lettered].freeze
        ALSO_ERRORS = %w[FAIL ERROR].freeze # facilities of log lines that are error events as well
        LEVELS = %i[error error error error warn info info debug].freeze # of syslog's 0 to 7
        private_constant :MAX_REMEMBERED, :BY_PARTITION, :ALSO_ERRORS, :LEVELS

        # Returns the class and message of an exception in UTF-8, without the lines of source that
        # Ruby 3.1 adds to a NameError's. The user's exception may have a message in any encoding,
        # or raise in `message`.
        def self.describe(error)
          text = error.respond_to?(:original_message) ? error.original_message : error.message
          text = text.to_s
          text = text.encode(Encoding::UTF_8) unless text.encoding.ascii_compatible?
          (error.class.to_s.b << ": " << text.b).force_encoding(Encoding::UTF_8).scrub("?")
        rescue StandardError => e # the user's, in `message`
          "#{error.class}, whose message raised #{e.class}"
        end

        def initialize(node, settings, clock: OS.method(:now))
          @clock = clock
          @node = node
          @settings = settings
          @seen = {}
          @lock = Mutex.new
        end

        def log(event)
          level, facility, text = event.log
          return if ALSO_ERRORS.include?(facility)

          repeated = rate_limited([facility, text.to_s.gsub(/\d+/, "#")]) or return
          event(:kafka_log, level: LEVELS.fetch(level, :debug), facility:,
                            text: clean(text.to_s), **repeated)
        end

        def error(event, **facts)
          problem(event.name, event.text, **facts)
        end

        def problem(code, text, name: :kafka_error, level: :error, **facts)
          place = facts.values_at(:topic, :partition) if BY_PARTITION.include?(name)
          repeated = rate_limited([name, code, text.gsub(/\d+/, "#"), *place]) or return
          event(name, level:, code:, error: clean(text), **facts, **repeated)
        end

        def event(name, level: :info, **facts) = @node.event(name, level:, **facts)

        # Reports an error that reading a partition met.
        def unreadable(partition, code, text)
          advice = AuthorizationError.advice(code)
          facts = advice ? { name: :kafka_unauthorized, hint: advice } : {}
          problem(Librdkafka::Bindings.err2name(code), text, topic: partition.topic,
                                                             partition: partition.number, **facts)
        end

        # Reports an exception that a batch's handler raised.
        def failed(name, batch, error, **facts)
          text = clean(EventReporter.describe(error))
          event(name, level: :error, **batch.place, error: text, **facts)
        end

        # Returns the text without secrets.
        def clean(text) = @settings.redact(text)

        private

        # Returns nil if the same was reported within QUIET seconds, otherwise facts to report with
        # it: how often it was repeated since.
        def rate_limited(key)
          @lock.synchronize do
            now = @clock.call
            since, count = @seen.fetch(key, [-QUIET, 0])
            repeated = now - since < QUIET
            @seen.clear if @seen.size > MAX_REMEMBERED
            @seen[key] = repeated ? [since, count + 1] : [now, 0]
            next if repeated

            count.zero? ? {} : { repeated: count }
          end
        end
      end
    end
  end
end
