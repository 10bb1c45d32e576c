# frozen_string_literal: true

require "skep/redaction"

# The librdkafka settings of the user, checked, and with skep's defaults for each kind of client.
#
#   settings = ClientConfig.new({ "bootstrap.servers": "kafka-1:9092", "sasl.password": "…" })
#   settings.errors      # => Strings; librdkafka checks names and values, if it is installed
#   settings.brokers     # => "kafka-1:9092", without secrets
#   settings.consumer("billing-host", 3, group: "readers", commit_interval: 5.0)
#
# skep sets a few settings, since it commits what handlers have processed: the user can't set them.
module Skep
  module Kafka
    module Config
      class ClientConfig
        OWNED = {
          "group.id" => "Set the source's group instead",
          "auto.commit.interval.ms" => "Set the source's commit_interval instead",
          "enable.auto.commit" => "skep commits what the handler has processed",
          "enable.auto.offset.store" => "skep stores an offset when the handler has returned",
          "enable.partition.eof" => "skep finds the end without it, and librdkafka before " \
                                    "2.13.2 may continue a message too far after a rebalance",
          "transactional.id" => "Set the source's transactional option instead",
          "log.queue" => "skep reads librdkafka's log",
          "enabled_events" => "skep reads librdkafka's events"
        }.freeze

        # A callable, not librdkafka's: Librdkafka::OAuthLogin calls it.
        OAUTH = "oauth"
        MECHANISMS = %w[sasl.mechanism sasl.mechanisms].freeze # two names of one setting
        OAUTHBEARER = "OAUTHBEARER"
        OAUTH_DEFAULTS = { "security.protocol" => "sasl_ssl",
                           "sasl.mechanisms" => OAUTHBEARER }.freeze

        REFRESH = "topic.metadata.refresh.interval.ms"
        DEFAULTS = {
          # A new group starts at the beginning: no message is skipped silently.
          "auto.offset.reset" => "earliest",
          # Detects messages that were corrupted in transit or on the broker's disk.
          "check.crcs" => "true",
          # How soon new topics and returning brokers are noticed. With a pattern each refresh
          # requests all topics of the cluster: librdkafka's default of 5 minutes applies.
          REFRESH => "10000",
          "reconnect.backoff.max.ms" => "2000",
          # The limits of each partition's queue. With librdkafka's defaults, 100,000 messages and
          # 64 MiB, a node with many partitions needs much memory when it lags.
          "queued.min.messages" => "40000",
          "queued.max.messages.kbytes" => "16384",
          # How long a broker may hold a fetch request for which it has no messages. A partition
          # with a full queue isn't in the request, and runs empty meanwhile. A shorter wait wakes
          # idle nodes more often. (docs/decisions/0039-fetch-settings.md)
          "fetch.wait.max.ms" => "350",
          # How long fetching pauses when a queue is full: librdkafka's default of 1000 leaves
          # gaps.
          "fetch.queue.backoff.ms" => "10"
        }.freeze
        POLL_MS = 300_000 # librdkafka's default of max.poll.interval.ms
        SESSION_MS = 45_000 # librdkafka's default of session.timeout.ms
        # Settings that only consumers have.
        CONSUMER_SETTINGS = /\A(?:group\.|auto\.offset|session\.|heartbeat\.|max\.poll|fetch\.|
                                queued\.|partition\.assignment|isolation\.|check\.crcs|
                                allow\.auto\.create)/x
        HIDDEN = "***"
        LOGIN_IN_URL = %r{(?<=://)[^/@\s]+@}
        private_constant :OWNED, :OAUTH, :MECHANISMS, :OAUTHBEARER, :OAUTH_DEFAULTS, :REFRESH,
                         :DEFAULTS, :POLL_MS, :SESSION_MS, :CONSUMER_SETTINGS, :HIDDEN,
                         :LOGIN_IN_URL

        def initialize(given)
          @given = given
          @settings = plain(given).freeze
          @secrets = secret_values.freeze
          @protocol = GroupProtocol.new(@settings)
        end

        # Returns the bootstrap servers without secrets.
        def brokers = redact(bootstrap.to_s)

        # Returns the text as valid UTF-8 without the values of secret settings, logins in URLs, and
        # whatever else looks like a secret (Skep::Redaction).
        def redact(text)
          clean = text.dup.force_encoding(Encoding::UTF_8).scrub("?")
          @secrets.each { |secret| clean = clean.gsub(secret, HIDDEN) }
          Redaction.text(clean, HIDDEN).gsub(LOGIN_IN_URL, "#{HIDDEN}@")
        end

        def [](name) = @settings[name]

        # Returns where a group without a committed offset starts (:beginning for `error`).
        def reset_place # :beginning or :end
          %w[latest largest end].include?(self["auto.offset.reset"]) ? :end : :beginning
        end

        # The same as librdkafka's offset: RD_KAFKA_OFFSET_END, RD_KAFKA_OFFSET_BEGINNING.
        def reset_offset = reset_place == :end ? -1 : -2

        # Returns max.poll.interval.ms in seconds.
        def max_poll_interval = seconds("max.poll.interval.ms", POLL_MS)

        # Returns the session timeout in seconds. With KIP-848 the broker has that setting, at least
        # 45 s by default.
        def session_timeout = seconds("session.timeout.ms", SESSION_MS)

        # Returns true if members leave their group at a stop unless the user decides otherwise.
        def leave_on_stop? = @protocol.leave_on_stop?

        def to_h = @settings

        # Returns an error message for each mistake.
        def errors
          return [NOT_A_HASH] unless @given.is_a?(Hash)

          [*missing_brokers, *lists, *owned, *rejected, *tokens, *@protocol.errors]
        end

        # Returns the settings of a group member: node `id` of the swarm and host `name`. A static
        # member gets the same partitions back at once after a restart. `"group.instance.id": nil`
        # in the settings, or nameless: true, makes it a dynamic member. patterns: true if it
        # subscribes to a pattern. stall_timeout: statistics for it are wanted. auto_commit: false
        # if librdkafka is to commit nothing by itself.
        def consumer(name, id, group:, commit_interval:, stall_timeout: nil, nameless: false,
                     patterns: false, auto_commit: true)
          own = @protocol.instance_name(name) unless nameless
          defaults = patterns ? DEFAULTS.except(REFRESH) : DEFAULTS
          defaults = defaults.merge(statistics(stall_timeout)) if stall_timeout
          { "client.id" => "#{name}-#{id}" }.merge(defaults, @protocol.defaults, @settings).merge(
            "group.id" => group, "group.instance.id" => ("#{own}-#{id}" if own),
            "enable.auto.offset.store" => "false", "enable.auto.commit" => auto_commit.to_s,
            "auto.commit.interval.ms" => (commit_interval * 1000).to_i.to_s
          ).compact
        end

        # Returns the settings of a client that queries a group without joining it. (A client
        # without a group.id crashes in librdkafka 2.11 if the coordinator has moved.)
        def admin(group)
          own = @settings.reject { |name, _| name.start_with?("group.") }
          own.merge("group.id" => group, "enable.auto.commit" => "false")
        end

        # Returns the settings of a producer for the same cluster.
        def producer
          @settings.reject { |name, _| name.match?(CONSUMER_SETTINGS) }
        end

        # Returns these settings merged with others, which take precedence.
        def with(more) = ClientConfig.new(@settings.merge(plain(more)))

        def inspect = "#<Skep::Kafka::Config::ClientConfig #{brokers}>"

        NOT_A_HASH = "kafka must be a hash of librdkafka's settings, such as " \
                     "{ \"bootstrap.servers\": \"kafka-1:9092\" }"
        private_constant :NOT_A_HASH

        private

        # Consumer::StallMonitor reads them.
        def statistics(stall_timeout)
          { "statistics.interval.ms" => (stall_timeout * 1000 / 2.0).clamp(100, 30_000).to_i.to_s }
        end

        # The longest first: a secret may contain another.
        def secret_values
          texts = @settings.except(OAUTH)
          texts.select { |name, value| Redaction.secret_name?(name) && !value.empty? }
                   .values.sort_by { |value| -value.size }
        end

        def plain(given)
          return {} unless given.is_a?(Hash)

          plain = given.transform_keys(&:to_s)
          texts = plain.except(OAUTH).transform_values(&:to_s)
          return texts unless plain[OAUTH]

          mechanism = MECHANISMS.any? { |name| texts.key?(name) } ? ["sasl.mechanisms"] : []
          { **OAUTH_DEFAULTS.except(*mechanism), **texts, OAUTH => plain[OAUTH] }
        end

        def seconds(name, default)
          given = Integer(self[name] || default, exception: false)
          (given&.positive? ? given : default) / 1000.0
        end

        def bootstrap = @settings["bootstrap.servers"] || @settings["metadata.broker.list"]

        def missing_brokers
          return [] unless bootstrap.to_s.strip.empty?

          ["kafka: bootstrap.servers is missing. Name the first brokers to connect to, such as " \
           "\"kafka-1:9092,kafka-2:9092\"."]
        end

        # librdkafka would take a list's Ruby text for a value: for a host, for one.
        def lists
          found = @given.select { |_, value| value.is_a?(Enumerable) }
          found.map do |name, value|
            "kafka: #{name} must be a String, as librdkafka has no lists (got #{value.class}). " \
              "Join its values with commas."
          end
        end

        def owned
          OWNED.slice(*@settings.keys).map { |name, why| "kafka: #{name} can't be set. #{why}." }
        end

        # librdkafka checks names and values, without connecting. Without librdkafka there is one
        # message, about the missing gem.
        def rejected
          missing = Librdkafka::Bindings.missing_library
          return [missing] if missing

          checked = @settings.except(*OWNED.keys, *empty_instance_id, OAUTH)
          checked.filter_map { |name, value| rejection(name, value) }
        end

        # OAUTHBEARER needs tokens, of the callable or of librdkafka itself.
        def tokens
          mechanism = @settings.values_at(*MECHANISMS).compact.first
          oauth = @settings[OAUTH]
          return [NOT_CALLABLE] unless oauth.nil? || oauth.respond_to?(:call)
          return [format(OTHER_LOGIN, mechanism)] if oauth && mechanism.upcase != OAUTHBEARER

          own = %w[sasl.oauthbearer.method enable.sasl.oauthbearer.unsecure.jwt]
          missing = mechanism&.upcase == OAUTHBEARER && !oauth && (own & @settings.keys).empty?
          missing ? [NO_TOKENS] : []
        end

        NOT_CALLABLE = "oauth must be a callable that returns a token"
        OTHER_LOGIN = "oauth needs sasl.mechanism OAUTHBEARER (got %s). Leave sasl.mechanism out"
        NO_TOKENS = "kafka: sasl.mechanism OAUTHBEARER needs tokens. Set oauth to a callable " \
                    "that returns one, or sasl.oauthbearer.method to oidc."
        private_constant :NOT_CALLABLE, :OTHER_LOGIN, :NO_TOKENS

        # A nil from the user: librdkafka would reject it.
        def empty_instance_id = @settings["group.instance.id"] == "" ? ["group.instance.id"] : []

        def rejection(name, value)
          Librdkafka::Bindings.conf_destroy(Librdkafka::Client.configure({ name => value }))
          nil
        rescue LibrdkafkaError => e # reported as one of the mistakes
          redact("kafka: #{e.message}")
        end
      end
    end
  end
end
