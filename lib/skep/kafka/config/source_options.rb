# frozen_string_literal: true

# A Kafka source's options, checked: it collects all mistakes and raises none.
#
#   options = SourceOptions.new(kafka: { … }, group: "billing", topics: "orders", threads: 4)
#   options.errors     # => []
#   options.topics     # => ["orders"]
module Skep
  module Kafka
    module Config
      class SourceOptions
        DEFAULTS = {
          kafka: nil, group: nil, topics: nil, threads: 1, batch: 500, max_wait: 0,
          dead_letter: nil, attempts: nil, poison: nil, connect_timeout: 15, commit_every: 5.0,
          retry_backoff: 0.1, retry_for: 300, rebalance_wait: nil, ordered_by: :partition,
          ahead: 5_000, filter: nil, producer: {}, transactional: false
        }.freeze
        ATTEMPTS = 5
        REBALANCE_SHARE = 0.8 # of max.poll.interval.ms, after which Kafka gives partitions away
        POISON = %i[dead_letter pause skip].freeze
        LEGAL = /\A[a-zA-Z0-9._-]{1,249}\z/ # Kafka's names of topics
        private_constant :DEFAULTS, :ATTEMPTS, :REBALANCE_SHARE, :POISON, :LEGAL

        attr_reader :settings #: ClientConfig
        attr_reader :group #: String
        attr_reader :topics #: Array[String]
        attr_reader :threads #: Integer
        attr_reader :batch #: Integer, messages at most
        attr_reader :max_wait #: Numeric, seconds
        attr_reader :dead_letter #: String?
        attr_reader :attempts #: Integer?, tries before the dead letter; nil: for ever
        attr_reader :poison #: Symbol, what becomes of a message that crashes its nodes
        attr_reader :connect_timeout #: Numeric?, seconds; nil: for ever
        attr_reader :commit_every #: Numeric, seconds
        attr_reader :retry_backoff #: Numeric, seconds
        attr_reader :rebalance_wait #: Numeric, seconds for which a revocation waits for handlers
        attr_reader :retry_for #: Numeric?, seconds of failures before the dead letter
        attr_reader :ordered_by #: :partition | :key | ^(Message) -> untyped
        attr_reader :ahead #: Integer, messages beyond the lowest unfinished one, at most
        attr_reader :filter #: (^(Message) -> bool)?
        attr_reader :producer #: ClientConfig, of child.producer
        attr_reader :transactional #: bool | String, the beginning of its transactional ids
        attr_reader :errors #: Array[String]

        def initialize(**given) #: (**untyped) -> void
          taken = DEFAULTS.merge(given.slice(*DEFAULTS.keys))
          taken.except(:kafka).each { |name, value| instance_variable_set(:"@#{name}", value) }
          @settings = ClientConfig.new(taken[:kafka])
          @producer = @settings.with(taken[:producer])
          @topics = Array(topics).map(&:to_s).freeze
          @attempts ||= ATTEMPTS if dead_letter
          @rebalance_wait ||= (settings.max_poll_interval * REBALANCE_SHARE).round(1)
          @poison ||= dead_letter ? :dead_letter : :pause
          @errors = [*unknown(given), *settings.errors, *names, *numbers, *rebalance, *burial,
                     *sentence, *choice, *outputs(taken[:producer])].freeze
          freeze
        end

        # Returns the options as plain data without secrets.
        def facts #: () -> Hash[Symbol, untyped]
          names = DEFAULTS.keys - %i[kafka producer]
          { kind: "kafka", brokers: settings.brokers,
            **names.to_h { |name| [name, shown(public_send(name))] } }
        end

        # Returns a copy without a minimum time before dead-lettering, for tests.
        def timeless = dup.tap { |copy| copy.instance_variable_set(:@retry_for, nil) }.freeze

        # Returns true if a topic is a pattern.
        def patterns? = topics.any? { |topic| topic.start_with?("^") } #: () -> bool

        # What tells the key of a message.
        def key_of = ordered_by == :key ? :key.to_proc : ordered_by #: () -> ^(Message) -> untyped

        private

        def unknown(given)
          (given.keys - DEFAULTS.keys).map do |name|
            "Skep::Kafka::Source has no option #{name}: it takes #{DEFAULTS.keys.join(", ")}"
          end
        end

        def names
          [*("group: must name the consumer group, not #{group.inspect}" unless text?(group)),
           *("topics: must name at least one topic to read" if topics.empty?),
           *topics.reject { |topic| legal?(topic) || topic.start_with?("^") }.map do |topic|
             "topics: #{topic.inspect} is no name of a topic: take letters, digits, \".\", \"_\" " \
               "and \"-\", or a pattern that begins with ^"
           end]
        end

        def numbers
          [*must_be("a whole number, 1 or more", threads:, batch:, ahead:) { |one| whole?(one) },
           *must_be("seconds, 0 or more", max_wait:) { |value| seconds?(value) },
           *must_be("seconds, more than 0", commit_every:, retry_backoff:) do |value|
             positive_seconds?(value)
           end,
           *must_be("seconds, more than 0, or nil to wait for ever", connect_timeout:) do |value|
             value.nil? || positive_seconds?(value)
           end]
        end

        # Kafka excludes a member that hasn't given up its partitions after max.poll.interval.ms.
        def rebalance
          most = settings.max_poll_interval
          must_be("seconds, from 0 to less than max.poll.interval.ms, here #{most}",
                  rebalance_wait:) { |value| seconds?(value) && value < most }
        end

        def burial
          [*must_be("a whole number, 1 or more", attempts:) { |value| value.nil? || whole?(value) },
           *must_be("seconds, 0 or more, or nil", retry_for:) { |one| one.nil? || seconds?(one) },
           *must_be("a topic's name", dead_letter:) { |value| value.nil? || legal?(value.to_s) },
           *("attempts: needs dead_letter:, or messages would be lost" if attempts && !dead_letter),
           *must_be("a topic that this source doesn't read itself (#{LOOP})",
                    dead_letter:) do |value|
             value.nil? || topics.none? { |topic| names?(topic, value.to_s) }
           end]
        end

        # Returns true if the topic, or the pattern, matches the name. (librdkafka's patterns are
        # POSIX regular expressions, nearly the same as Ruby's.)
        def names?(topic, name)
          topic.start_with?("^") ? Regexp.new(topic).match?(name) : topic == name
        rescue RegexpError
          false
        end

        def sentence
          known = POISON.map(&:inspect).join(", ")
          [*must_be("one of #{known}", poison:) { |value| POISON.include?(value) },
           *("poison: :dead_letter needs dead_letter:, the topic to write to, or choose " \
             ":pause or :skip" if poison == :dead_letter && !dead_letter)]
        end

        def choice
          [*must_be(":partition, :key or a callable that gives a message's key",
                    ordered_by:) { |by| %i[partition key].include?(by) || by.respond_to?(:call) },
           *must_be("a callable that takes a message", filter:) do |filter|
             filter.nil? || filter.respond_to?(:call)
           end]
        end

        def shown(value) = value.respond_to?(:call) ? "given" : value

        def outputs(given)
          return ["producer: takes librdkafka's settings as a hash"] unless given.is_a?(Hash)

          [*(refused(given) unless given.empty?),
           *must_be("true, false or a name", transactional:) do |value|
             [true, false].include?(value) || (text?(value) && legal?(value))
           end,
           *(UNCOMMITTED if transactional && settings["isolation.level"] == "read_uncommitted"),
           *(UNORDERED if transactional && ordered_by != :partition)]
        end

        def refused(given)
          sentences = ClientConfig.new({ "bootstrap.servers": "none", **given }).errors
          sentences.map { |text| text.sub(/\Akafka:/, "producer:") }
        end

        LOOP = "each dead letter would be read, fail, and be written again; a pattern matches " \
               "the beginning of a name unless it ends with $"
        UNCOMMITTED = "transactional: needs isolation.level to be read_committed, as it is by " \
                      "default: a node would begin before the last transaction's offsets are known"
        UNORDERED = "transactional: needs ordered_by: :partition: a transaction ends with one " \
                    "offset of its partition, and all before it must be done"
        private_constant :LOOP, :UNCOMMITTED, :UNORDERED

        def must_be(what, **values)
          values.filter_map do |name, value|
            "#{name}: must be #{what}, not #{value.inspect}" unless yield value
          end
        end

        def whole?(value) = value.is_a?(Integer) && value.positive?
        def seconds?(value) = value.is_a?(Numeric) && value.real? && value >= 0
        def positive_seconds?(value) = seconds?(value) && value.positive?
        def text?(value) = value.is_a?(String) && !value.strip.empty?
        def legal?(name) = name.match?(LEGAL)
      end
    end
  end
end
