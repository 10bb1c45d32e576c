# frozen_string_literal: true

require "skep/secrets"

# The librdkafka settings a user gave, with what skep adds, and what is wrong with them.
#
#   settings = ClientConfig.new({ "bootstrap.servers": "kafka-1:9092", "sasl.password": "…" })
#   settings.errors      # => sentences; checked by librdkafka itself when it is there
#   settings.brokers     # => "kafka-1:9092", fit for a log
#   settings.for_member("billing-host", 3, group: "readers", commit_every: 5.0)
#
# A few are skep's own, since "done" means that the handler returned: those are refused.
module Skep
  module Kafka
    module Config
      class ClientConfig
        SKEPS = {
          "group.id" => "give group: to the source",
          "auto.commit.interval.ms" => "give commit_every: to the source",
          "enable.auto.commit" => "skep commits what the handler has done",
          "enable.auto.offset.store" => "skep stores an offset when the handler has returned",
          "enable.partition.eof" => "skep knows of the end without it, and librdkafka before " \
                                    "2.13.2 may go on a message too far after a rebalance",
          "transactional.id" => "give transactional: to a source",
          "log.queue" => "skep reads librdkafka's log itself",
          "enabled_events" => "skep reads librdkafka's events itself"
        }.freeze

        REFRESH = "topic.metadata.refresh.interval.ms"
        DEFAULTS = {
          # A new group begins at the beginning: nothing is skipped silently.
          "auto.offset.reset" => "earliest",
          # What was spoilt on its way, or on the broker's disk, isn't taken for a message.
          "check.crcs" => "true",
          # How long a topic made later, and a broker that came back, may go unnoticed. For a
          # pattern each refresh asks for the whole cluster's topics: then librdkafka's 5 minutes
          # hold.
          REFRESH => "10000",
          "reconnect.backoff.max.ms" => "2000",
          # How much may wait here, for each partition, since each has a queue of its own: 100,000
          # messages and 64 MiB, as librdkafka has it, make a node of many partitions large when it
          # lags.
          "queued.min.messages" => "10000",
          "queued.max.messages.kbytes" => "16384",
          # How long fetching rests when that much is here: librdkafka's 1000 leaves gaps.
          "fetch.queue.backoff.ms" => "10"
        }.freeze
        POLL_MS = 300_000 # librdkafka's max.poll.interval.ms unless set
        SESSION_MS = 45_000 # the same of session.timeout.ms
        # Those that only a consumer has.
        CONSUMERS = /\A(?:group\.|auto\.offset|session\.|heartbeat\.|max\.poll|fetch\.|queued\.|
                        partition\.assignment|isolation\.|check\.crcs|allow\.auto\.create)/x
        HIDDEN = "***"
        LOGIN_IN_URL = %r{(?<=://)[^/@\s]+@}
        private_constant :SKEPS, :REFRESH, :DEFAULTS, :POLL_MS, :SESSION_MS, :CONSUMERS, :HIDDEN,
                         :LOGIN_IN_URL

        def initialize(given) #: (untyped) -> void
          @given = given
          @settings = plain(given).freeze
          @secrets = secret_values.freeze
          @protocol = GroupProtocol.new(@settings)
        end

        # The brokers as they may be shown.
        def brokers = redact(bootstrap.to_s) #: () -> String

        # Returns the text as valid UTF-8 without the values of secret settings, logins in URLs, and
        # whatever else looks like a secret (Skep::Secrets).
        def redact(text) #: (String) -> String
          clean = text.dup.force_encoding(Encoding::UTF_8).scrub("?")
          @secrets.each { |secret| clean = clean.gsub(secret, HIDDEN) }
          Secrets.hide(clean, HIDDEN).gsub(LOGIN_IN_URL, "#{HIDDEN}@")
        end

        def [](name) = @settings[name] #: (String) -> String?

        # Where a group without an offset begins; of `error` it isn't told.
        def reset_place #: () -> Symbol, :beginning or :end
          %w[latest largest end].include?(self["auto.offset.reset"]) ? :end : :beginning
        end

        # max.poll.interval.ms in seconds.
        def max_poll_interval = seconds("max.poll.interval.ms", POLL_MS) #: () -> Float

        # The session's in seconds; with KIP-848 the broker has it, 45 s by default and at least.
        def session_timeout = seconds("session.timeout.ms", SESSION_MS) #: () -> Float

        def to_h = @settings #: () -> Hash[String, String]

        # What is wrong, a sentence each.
        def errors #: () -> Array[String]
          return [NO_HASH] unless @given.is_a?(Hash)

          [*missing_brokers, *owned, *refused, *@protocol.errors]
        end

        # As a member of a group: node `id` of those called `name`. Known to the group by the same
        # name after a restart, it gets the same partitions back at once; `"group.instance.id": nil`
        # asks for a nameless member instead, as nameless: does whatever the settings say. patterns:
        # does it subscribe to any?
        #
        #: (String, Integer, group: String, commit_every: Numeric, ?nameless: bool, ?patterns: bool)
        #:   -> Hash[String, String]
        def for_member(name, id, group:, commit_every:, nameless: false, patterns: false)
          own = @protocol.name(name) unless nameless
          defaults = patterns ? DEFAULTS.except(REFRESH) : DEFAULTS
          { "client.id" => "#{name}-#{id}" }.merge(defaults, @protocol.defaults, @settings).merge(
            "group.id" => group, "group.instance.id" => ("#{own}-#{id}" if own),
            "enable.auto.offset.store" => "false", "enable.auto.commit" => "true",
            "auto.commit.interval.ms" => (commit_every * 1000).to_i.to_s
          ).compact
        end

        # As one that asks about a group, and doesn't join it. (A client without a group crashes in
        # librdkafka 2.11 where the coordinator it asks isn't the group's any more.)
        def for_inquiry(group) #: (String) -> Hash[String, String]
          own = @settings.reject { |name, _| name.start_with?("group.") }
          own.merge("group.id" => group, "enable.auto.commit" => "false")
        end

        # As a producer beside it.
        def for_producer #: () -> Hash[String, String]
          @settings.reject { |name, _| name.match?(CONSUMERS) }
        end

        # These with others over them.
        def with(more) = ClientConfig.new(@settings.merge(plain(more))) #: (Hash) -> ClientConfig

        def inspect = "#<Skep::Kafka::Config::ClientConfig #{brokers}>" #: () -> String

        NO_HASH = "kafka: takes librdkafka's settings as a hash, such as " \
                  "{ \"bootstrap.servers\": \"kafka-1:9092\" }"
        private_constant :NO_HASH

        private

        # Longest first: one secret may contain another.
        def secret_values
          @settings.select { |name, value| Secrets.name?(name) && !value.empty? }
                   .values.sort_by { |value| -value.size }
        end

        def plain(given)
          given.is_a?(Hash) ? given.to_h { |name, value| [name.to_s, value.to_s] } : {}
        end

        def seconds(name, default)
          given = Integer(self[name] || default, exception: false)
          (given&.positive? ? given : default) / 1000.0
        end

        def bootstrap = @settings["bootstrap.servers"] || @settings["metadata.broker.list"]

        def missing_brokers
          return [] unless bootstrap.to_s.strip.empty?

          ["kafka: lacks bootstrap.servers: name the brokers to begin with, " \
           "such as \"kafka-1:9092,kafka-2:9092\""]
        end

        def owned
          SKEPS.slice(*@settings.keys).map { |name, why| "kafka: #{name} can't be set: #{why}" }
        end

        # librdkafka checks names and values without a network; without it there is one sentence.
        def refused
          missing = Librdkafka::Bindings.missing_library
          return [missing] if missing

          @settings.except(*SKEPS.keys, *nameless).filter_map { |name, value| refusal(name, value) }
        end

        def nameless = @settings["group.instance.id"] == "" ? ["group.instance.id"] : []

        def refusal(name, value)
          Librdkafka::Bindings.conf_destroy(Librdkafka::Client.configure({ name => value }))
          nil
        rescue LibrdkafkaError => e # what librdkafka doesn't take is the user's to correct
          redact("kafka: #{e.message}")
        end
      end
    end
  end
end
