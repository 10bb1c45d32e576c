# frozen_string_literal: true

# Reports librdkafka's log lines and errors, and skep's own Kafka events, to the supervisor. Removes
# secrets. A repeated error is reported once a minute at most, with the number of repetitions.
#
# A failure of a handler is reported at level error if it is the first of its kind (the same topic,
# class of error and place), and then once in ten seconds, with the number of those in between.
# These are reported at level debug.
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
        MAX_REMEMBERED = 20_000 # different errors: a node may have thousands of partitions
        # Events that concern the messages of one partition: repeated ones are counted for each.
        BY_PARTITION = %i[kafka_unreadable kafka_backpressure not_dead_lettered].freeze
        FAILURES_EVERY = 10.0 # seconds between two failures of a kind that are reported as errors
        ALSO_ERRORS = %w[FAIL ERROR].freeze # facilities of log lines that are error events as well
        LEVELS = %i[error error error error warn info info debug].freeze # of syslog's 0 to 7
        # Bytes of a message that are read. A log line has a quarter of them, so none ends within a
        # secret that is cut here.
        MESSAGE_BYTES = 65_536
        private_constant :MAX_REMEMBERED, :FAILURES_EVERY, :BY_PARTITION, :ALSO_ERRORS, :LEVELS,
                         :MESSAGE_BYTES

        # Returns the class and message of an exception in UTF-8, without the lines of source that
        # Ruby 3.1 adds to a NameError's. The user's exception may have a message in any encoding,
        # of any size (the whole answer of a server), or raise in `message`.
        def self.describe(error)
          text = error.respond_to?(:original_message) ? error.original_message : error.message
          text = text.to_s.byteslice(0, MESSAGE_BYTES)
          unless text.encoding.ascii_compatible?
            text = text.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
          end
          (error.class.to_s.b << ": " << text.b).force_encoding(Encoding::UTF_8).scrub("?")
        rescue UserError => e # in `message`
          "#{error.class}, whose message raised #{e.class}"
        end

        # failures_every: 0 reports each failure of a handler as an error, for tests.
        def initialize(node, settings, clock: OS.method(:now), failures_every: FAILURES_EVERY)
          @clock = clock
          @failures_every = failures_every
          @kinds = {} # of failures, for each use: when one was told, how many were not told since
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

        # Reports an exception that a batch's handler raised, and what follows from it.
        def failed(name, slice, error, level: :error, **facts)
          text = clean(EventReporter.describe(error))
          at = ErrorPlace.of(error)
          event(name, level:, **slice.place, error: text, **(at ? { at: } : {}), **facts)
        end

        # Reports that a handler has raised and is called again.
        def retried(slice, error, **facts)
          told = tell(:log, slice.topic, error)
          return failed(:handler_failed, slice, error, level: :debug, **facts) unless told

          failed(:handler_failed, slice, error, **facts, **told.slice(:repeated),
                                                **backtrace(told, error))
        end

        # Returns nil if a failure of this kind was told within the last ten seconds, else facts to
        # tell it with: first: true for the first one, or how many were repeated since. use: what it
        # is told for; each use has a count of its own.
        def tell(use, topic, error)
          kind = [use, topic, error.class, ErrorPlace.of(error)]
          @lock.synchronize { tell_kind(kind, @clock.call) }
        end

        # Returns the text without secrets.
        def clean(text) = @settings.redact(text)

        # Returns class and message of an exception, without secrets.
        def describe(error) = clean(EventReporter.describe(error))

        private

        def backtrace(told, error)
          lines = told[:first] ? ErrorPlace.backtrace(error).map { |line| clean(line) } : []
          lines.empty? ? {} : { backtrace: lines }
        end

        # A kind that hasn't occurred for QUIET seconds is a first one again.
        def tell_kind(kind, now)
          at, count, last = @kinds[kind]
          if at.nil? || now - last >= QUIET
            remember(@kinds, kind, [now, 0, now])
            return { first: true }
          end
          told = now - at >= @failures_every
          remember(@kinds, kind, told ? [now, 0, now] : [at, count + 1, now])
          return unless told

          count.zero? ? {} : { repeated: count }
        end

        # Returns nil if the same was reported within QUIET seconds, otherwise facts to report with
        # it: how often it was repeated since.
        def rate_limited(key)
          @lock.synchronize do
            now = @clock.call
            since, count = @seen.fetch(key, [-QUIET, 0])
            repeated = now - since < QUIET
            remember(@seen, key, repeated ? [since, count + 1] : [now, 0])
            next if repeated

            count.zero? ? {} : { repeated: count }
          end
        end

        # If there are too many, those are forgotten that haven't occurred for longest.
        def remember(known, key, facts)
          known.delete(key)
          known[key] = facts
          (MAX_REMEMBERED / 2).times { known.shift } if known.size > MAX_REMEMBERED
        end
      end
    end
  end
end
