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
          kafka: nil, group: nil, topics: nil, threads: 1, max_messages: 500, max_wait: 0,
          dead_letter_topic: nil, max_attempts: nil, on_error: {}, on_poison: nil,
          connect_timeout: 15, commit_interval: 5.0, retry_backoff: 0.1, retry_backoff_max: nil,
          retry_for: 300, rebalance_wait: nil, stall_timeout: 60, on_assigned: nil, on_revoked: nil,
          leave_on_stop: nil, ordered_by: :partition, max_out_of_order: 5_000, filter: nil,
          deserializer: nil, serializer: nil, oauth: nil, producer: {}, transactional: false,
          offsets: :kafka
        }.freeze
        ATTEMPTS = 5
        BACKOFF_MAX = 30 # seconds
        REBALANCE_SHARE = 0.8 # of max.poll.interval.ms, after which Kafka gives partitions away
        POISON = %i[dead_letter pause skip].freeze
        VERDICTS = %i[retry dead_letter pause].freeze
        LEGAL = /\A(?!\.{1,2}\z)[a-zA-Z0-9._-]{1,249}\z/ # Kafka's names of topics
        COMMIT_INTERVALS = (0.001..86_400) # librdkafka's; with 0 it wouldn't commit at all
        private_constant :DEFAULTS, :ATTEMPTS, :BACKOFF_MAX, :REBALANCE_SHARE, :POISON, :VERDICTS,
                         :LEGAL, :COMMIT_INTERVALS

        attr_reader :settings
        attr_reader :group
        attr_reader :topics
        attr_reader :threads
        attr_reader :max_messages # messages at most
        attr_reader :max_wait # seconds
        attr_reader :dead_letter_topic
        attr_reader :max_attempts # tries before the dead letter; nil: forever
        attr_reader :on_error # error classes, and what becomes of a message whose handler raises it
        attr_reader :on_poison # what happens to a message that crashes its nodes
        attr_reader :connect_timeout # seconds; nil: forever
        attr_reader :commit_interval # seconds
        attr_reader :retry_backoff # seconds
        attr_reader :retry_backoff_max # seconds
        attr_reader :rebalance_wait # seconds for which a revocation waits for handlers
        attr_reader :stall_timeout # seconds after which a partition is stalled; nil: never
        attr_reader :leave_on_stop # static members leave their group when the whole swarm stops
        attr_reader :on_assigned # called with a topic, a partition and its Batch#state
        attr_reader :on_revoked # the same
        attr_reader :retry_for # seconds of failures before the dead letter
        attr_reader :ordered_by
        attr_reader :max_out_of_order # messages beyond the lowest unfinished one, at most
        attr_reader :filter
        attr_reader :deserializer # :json, or called with a payload and headers; nil: none
        attr_reader :serializer # :json, or called with a value and headers; nil: none
        attr_reader :oauth # called for tokens of the login OAUTHBEARER
        attr_reader :producer # of node.producer
        attr_reader :offsets # where they are committed: :kafka or :database
        attr_reader :transactional # the beginning of its transactional ids
        attr_reader :errors

        def initialize(**given)
          taken = DEFAULTS.merge(given.slice(*DEFAULTS.keys))
          taken.except(:kafka).each { |name, value| instance_variable_set(:"@#{name}", value) }
          @settings = ClientConfig.new(with_oauth(taken[:kafka]))
          @producer = @settings.with(taken[:producer])
          @topics = Array(topics).map(&:to_s).freeze
          @max_attempts ||= ATTEMPTS if dead_letter_topic
          @dead_letter_topic = dead_letter_topic.to_s if dead_letter_topic.is_a?(Symbol)
          @retry_backoff_max ||= [BACKOFF_MAX, retry_backoff].max if seconds?(retry_backoff)
          @rebalance_wait ||= (settings.max_poll_interval * REBALANCE_SHARE).round(1)
          @leave_on_stop = settings.leave_on_stop? if leave_on_stop.nil?
          @on_poison ||= dead_letter_topic ? :dead_letter : :pause
          @errors = wrong(given).freeze
          freeze
        end

        # Returns the options for messages of a topic: these, or in SeveralTopics its own.
        def for(_topic) = self

        # Returns the options of each topic that has its own; these, if none has.
        def all = [self]

        def several? = false
        def handler = nil

        # Returns the options as plain data without secrets.
        def facts
          names = DEFAULTS.keys - %i[kafka producer]
          { kind: "kafka", brokers: settings.brokers,
            **names.to_h { |name| [name, shown(public_send(name))] } }
        end

        # Returns librdkafka's settings of the group member in the swarm's node with that id.
        def member_settings(swarm, id, nameless: false)
          settings.consumer("#{swarm}-#{Socket.gethostname}", id,
                            group:, nameless:, commit_interval:, stall_timeout:,
                            patterns: patterns?, auto_commit: !by_key?)
        end

        # Returns true if a topic is processed in the order of its keys: a commit says what is done
        # beyond its offset then, so librdkafka doesn't commit by itself.
        def by_key? = all.any? { |one| one.ordered_by != :partition }

        # A sentence for each value that is legal, and dangerous.
        def warnings
          acks = producer["acks"] || producer["request.required.acks"]
          acks == "0" ? [UNCONFIRMED] : []
        end

        # The seconds after which a message that fails becomes a dead letter although no other has
        # succeeded.
        def patience = @skipped ? 0.0 : retry_for.to_f

        # A message of the partition becomes a dead letter since that time is over.
        def waited(partition) = @skipped&.call(partition.key, retry_for.to_f)

        # Returns a copy for tests: no message waits for retry_for. skipped is called with the
        # topic and number of a partition that would have waited, and with the seconds.
        def timeless(skipped)
          dup.tap { |copy| copy.instance_variable_set(:@skipped, skipped) }.freeze
        end

        # Returns true if a topic is a pattern.
        def patterns? = topics.any? { |topic| topic.start_with?("^") }

        # Returns the callable that returns a message's key.
        def key_of = ordered_by == :key ? :key.to_proc : ordered_by

        private

        def wrong(given)
          [*unknown(given), *settings.errors, *names, *numbers, *rebalance, *dead_letters,
           *poison, *error_policy, *choice, *outputs(given.fetch(:producer, {}))]
        end

        def with_oauth(kafka) = oauth && kafka.is_a?(Hash) ? { **kafka, oauth: } : kafka

        def unknown(given) = no_option("Skep::Kafka::Source", given.keys, DEFAULTS.keys)

        # One sentence, so that the list of options is printed once; it is left out where every
        # wrong name is nearly right.
        def no_option(owner, given, known)
          hints = (given - known).to_h { |name| [name, Spelling.hint(name, known)] }
          return [] if hints.empty?

          list = ". Its options: #{known.join(", ")}" if hints.value?("")
          ["#{owner} has no option #{hints.map(&:join).join(", ")}#{list}"]
        end

        def names
          [*must_be("the name of a consumer group", group:) do |value|
             text?(value) && !value.include?("\0")
           end,
           *("topics must name at least one topic" if topics.empty?),
           *topics.reject { |topic| legal?(topic) || topic.start_with?("^") }.map do |topic|
             "topics has an invalid name (#{topic.inspect}). Use letters, digits, \".\", \"_\" " \
               "and \"-\", or a pattern that begins with ^."
           end,
           *topics.tally.filter_map { |topic, times| "topics names #{topic} twice" if times > 1 },
           *topics.filter_map { |topic| invalid_pattern(topic) if topic.start_with?("^") }]
        end

        # librdkafka knows more and other patterns than Ruby. It takes a list of them: those with
        # a comma are left out.
        def invalid_pattern(topic)
          return if topic.include?(",") || Librdkafka::Bindings.missing_library

          conf = Librdkafka::Client.configure({ "topic.blacklist" => topic })
          Librdkafka::Bindings.conf_destroy(conf)
          nil
        rescue LibrdkafkaError
          "topics has an invalid pattern (#{topic.inspect}): librdkafka takes POSIX extended " \
            "regular expressions"
        end

        def numbers
          [*must_be("a whole number from 1 to #{MOST_THREADS}", MORE_NODES, threads:) do |value|
             whole?(value) && value <= MOST_THREADS
           end,
           *must_be("a whole number from 1", max_messages:, max_out_of_order:) do |value|
             whole?(value)
           end,
           *must_be("seconds from 0", max_wait:) { |value| seconds?(value) },
           *must_be("seconds above 0", retry_backoff:) { |value| positive_seconds?(value) },
           *must_be("seconds from 0.001 to 86400", commit_interval:) do |value|
             seconds?(value) && COMMIT_INTERVALS.cover?(value)
           end,
           *must_be("seconds from retry_backoff on", retry_backoff_max:) do |value|
             !positive_seconds?(retry_backoff) || (seconds?(value) && value >= retry_backoff)
           end,
           *must_be("seconds above 0, or nil to wait forever", connect_timeout:,
                                                               stall_timeout:) do |value|
             value.nil? || positive_seconds?(value)
           end]
        end

        # Kafka excludes a member that hasn't given up its partitions after max.poll.interval.ms.
        def rebalance
          limit = settings.max_poll_interval
          must_be("seconds from 0 to less than max.poll.interval.ms, #{limit}",
                  rebalance_wait:) { |value| seconds?(value) && value < limit }
        end

        def dead_letters
          [*must_be("a whole number from 1", max_attempts:) { |value| value.nil? || whole?(value) },
           *must_be("seconds from 0, or nil", retry_for:) do |value|
             value.nil? || seconds?(value) || value == Float::INFINITY
           end,
           *must_be("a topic's name", dead_letter_topic:) do |value|
             value.nil? || (value.is_a?(String) && legal?(value))
           end,
           *(NO_TOPIC if max_attempts && !dead_letter_topic),
           *must_be("a topic that this source doesn't read", LOOP, dead_letter_topic:) do |value|
             topics.none? { |topic| names?(topic, value) }
           end]
        end

        # Returns true if the topic, or the pattern, matches the name. (librdkafka's patterns are
        # POSIX regular expressions, nearly the same as Ruby's.)
        def names?(topic, name)
          return topic == name unless topic.start_with?("^")

          name.is_a?(String) && Regexp.new(topic).match?(name)
        rescue RegexpError
          false
        end

        def poison
          known = POISON.map(&:inspect).join(", ")
          [*must_be("one of #{known}", on_poison:) { |value| POISON.include?(value) },
           *(NO_POISON_TOPIC if on_poison == :dead_letter && !dead_letter_topic)]
        end

        def error_policy
          wrong = must_be("a Hash of error classes", on_error:) { |policy| policy.is_a?(Hash) }
          return wrong if wrong.any?

          [*on_error.keys.reject { |key| error_class?(key) }.map do |key|
             "on_error must have error classes as its keys (got #{key.inspect})"
           end,
           *must_be("a Hash with the values :retry, :dead_letter, :pause", on_error:) do |policy|
             (policy.values - VERDICTS).empty?
           end,
           *(NO_ERROR_TOPIC if on_error.value?(:dead_letter) && !dead_letter_topic)]
        end

        # A module may be what an error is extended with.
        def error_class?(key)
          key.is_a?(Class) ? key <= Exception : key.is_a?(Module)
        end

        def choice
          [*must_be(":partition, :key or a callable that returns a message's key",
                    ordered_by:) { |by| %i[partition key].include?(by) || takes?(by, 1) },
           *must_be("a callable that takes a message", filter:) do |filter|
             filter.nil? || takes?(filter, 1)
           end,
           *must_be(":json, or a callable that takes a payload and headers",
                    deserializer:) do |value|
             format?(value)
           end,
           *must_be(":json, or a callable that takes a value and headers",
                    serializer:) { |value| format?(value) },
           *must_be("a callable that takes a topic, a partition and its state", on_assigned:,
                                                                              on_revoked:) do |one|
             one.nil? || takes?(one, 3)
           end,
           *must_be("true, false, or nil", leave_on_stop:) do |value|
             [true, false].include?(value)
           end]
        end

        def shown(value)
          return value.to_h { |one, verdict| [one.to_s, verdict] } if value.is_a?(Hash)

          value.respond_to?(:call) ? "given" : value
        end

        def outputs(given)
          return ["producer must be a hash of librdkafka's settings"] unless given.is_a?(Hash)

          [*(refused(given) unless given.empty?),
           *must_be("true, false or a name", transactional:) do |value|
             [true, false].include?(value) || (text?(value) && legal?(value))
           end,
           *(UNCOMMITTED if transactional && settings["isolation.level"] == "read_uncommitted"),
           *(UNORDERED if transactional && ordered_by != :partition), *offset_store]
        end

        def offset_store
          [*must_be(":kafka or :database", offsets:) { |value| %i[kafka database].include?(value) },
           *(UNORDERED_ROWS if offsets == :database && ordered_by != :partition),
           *(TWO_STORES if offsets == :database && transactional)]
        end

        def refused(given)
          errors = ClientConfig.new({ "bootstrap.servers": "none", **given }).errors
          errors.map { |text| text.sub(/\Akafka:/, "producer:") }
        end

        MOST_THREADS = 1_000
        MORE_NODES = "The threads of a node share one processor; for more of them add nodes."
        UNCONFIRMED = "acks is 0, so no broker confirms what node.producer writes: a lost " \
                      "message, a dead letter too, is reported as delivered. Leave acks out."
        LOOP = "Each dead letter would be read, fail, and be written again; a pattern matches " \
               "the beginning of a name unless it ends with $."
        NO_TOPIC = "max_attempts needs dead_letter_topic (messages would be lost). Set it, or " \
                   "leave max_attempts out."
        NO_ERROR_TOPIC = "on_error with :dead_letter needs dead_letter_topic. Set it, or choose " \
                         ":retry or :pause."
        NO_POISON_TOPIC = "on_poison: :dead_letter needs dead_letter_topic. Set it, or choose " \
                          ":pause or :skip."
        UNCOMMITTED = "transactional needs isolation.level: read_committed, its default (a node " \
                      "would start before the last transaction's offsets are known). Leave " \
                      "isolation.level out."
        UNORDERED = "transactional needs ordered_by: :partition (a transaction ends with one " \
                    "offset of its partition, and all messages before it must be done)"
        UNORDERED_ROWS = "offsets: :database needs ordered_by: :partition (a partition has one " \
                         "offset in the database, and all messages before it must be done)"
        TWO_STORES = "offsets: :database can't be combined with transactional (an offset is " \
                     "committed in one place). Choose one of them."
        private_constant :MOST_THREADS, :MORE_NODES, :UNCONFIRMED, :LOOP, :NO_TOPIC,
                         :NO_ERROR_TOPIC, :NO_POISON_TOPIC, :UNCOMMITTED, :UNORDERED,
                         :UNORDERED_ROWS, :TWO_STORES

        # why: a sentence to add.
        def must_be(what, why = nil, **values)
          values.filter_map do |name, value|
            next if yield value

            [*"#{name} must be #{what} (got #{value.inspect})", *why].join(". ")
          end
        end

        def format?(value) = value.nil? || value == :json || takes?(value, 2)

        # Is it a callable that can be called with so many arguments? (Otherwise it would fail with
        # each message.)
        def takes?(value, count)
          return false unless value.respond_to?(:call)
          return true if value.is_a?(Proc) && !value.lambda?

          kinds = (value.is_a?(Proc) ? value : value.method(:call)).parameters.map(&:first)
          return false if kinds.include?(:keyreq)

          least = kinds.count(:req)
          least <= count && (kinds.include?(:rest) || least + kinds.count(:opt) >= count)
        end

        def whole?(value) = value.is_a?(Integer) && value.positive?
        def seconds?(value) = value.is_a?(Numeric) && value.real? && value >= 0 && value.finite?
        def positive_seconds?(value) = seconds?(value) && value.positive?
        def text?(value) = value.is_a?(String) && !value.strip.empty?
        def legal?(name) = name.match?(LEGAL)
      end
    end
  end
end
