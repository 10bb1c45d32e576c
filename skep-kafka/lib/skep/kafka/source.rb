# frozen_string_literal: true

# Work for a swarm's nodes: messages of Kafka topics.
#
#   source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "kafka-1:9092" },
#                                    group: "billing", topics: ["orders"], threads: 5)
#   swarm.work(source) { |batch, node| batch.each { |message| … } }
#
# One source may read several topics, each with a handler and options of its own:
#
#   source = Skep::Kafka::Source.new(kafka:, group: "billing", threads: 5) do |source|
#     source.topic("orders", max_attempts: 3, dead_letter_topic: "orders.dead") { |batch, node| … }
#     source.topic("^refunds\\.", weight: 2) { |batch, node| … }
#   end
#   swarm.work(source)
#
# | option | default | |
# |---|---|---|
# | kafka | | librdkafka's settings, under its names |
# | group, topics | | the consumer group; a topic, several, or patterns that begin with ^ |
# | threads | 1 | handlers at a time in a node; of a partition there is one, unless by key |
# | ordered_by | :partition | :key, or a callable that gives a message's key |
# | max_out_of_order | 5000 | by key: maximum messages read beyond the lowest unfinished one |
# | filter | none | a callable; messages for which it is false are done without a handler |
# | deserializer | none | :json, or a callable that makes each message's value of its payload |
# | max_messages | 500 | maximum messages of a batch |
# | max_wait | 0 | seconds a smaller batch may wait for more messages |
# | commit_interval | 5.0 | seconds between commits; there are others at a rebalance and the end |
# | leave_on_stop | true in Kubernetes | leave the group when the swarm stops |
# | rebalance_wait | 80% of max.poll.interval.ms | seconds that a revocation waits for handlers |
# | stall_timeout | 60 | seconds until the node of a stalled partition is replaced; nil: never |
# | on_assigned, on_revoked | none | called with topic, partition and the Hash that is Batch#state |
# | retry_backoff | 0.1 | seconds until a batch whose handler raised is retried; doubles each time |
# | retry_backoff_max | 30, or retry_backoff if larger | maximum seconds of that backoff |
# | dead_letter_topic | none | the topic for messages that failed; without it skep retries forever |
# | max_attempts | 5 | how often a message fails before it is dead-lettered |
# | retry_for | 300 | seconds it fails before that, unless others show that it is bad; nil: 0 |
# | on_error | {} | error classes, each with :retry (for ever), :dead_letter (at once) or :pause |
# | on_poison | :dead_letter, :pause without one | what becomes of a message that crashed 3 nodes |
# | producer | {} | librdkafka's settings for node.producer, over those of kafka |
# | oauth | none | a callable that returns a token, for SASL's OAUTHBEARER |
# | serializer | none | :json, or a callable that makes what node.producer writes of a value |
# | transactional | false | outputs and offset of a batch in one transaction: true, or their name |
# | offsets | :kafka | :database commits them in Active Record's database, with the handler's rows |
# | connect_timeout | 15 | seconds until a boot without a broker fails; nil: wait forever |
#
# Delivery is at least once: an offset is committed only after the handler has returned. Invalid
# options are listed in `errors`.
module Skep
  module Kafka
    class Source
      # Yields the source, for calls of `topic`, if it reads several topics.
      def initialize(**options) # steep:ignore DifferentMethodParameterKind
        return @options = Config::SourceOptions.new(**options) unless block_given?

        @topics = []
        yield self
        @options = Config::SeveralTopics.new(@topics.freeze, **options)
      end

      # Adds a topic, or a pattern that begins with ^, with its handler. options: the source's
      # that may differ by topic, and `weight`, its share of the threads' time among topics with
      # messages. Call it in the block of Source.new.
      def topic(name, **options, &handler) # steep:ignore DifferentMethodParameterKind
        if @topics.nil? || @topics.frozen?
          raise ArgumentError, "source.topic belongs into the block of Skep::Kafka::Source.new"
        end

        @topics << [name.to_s, options, handler]
        self
      end

      # Returns a callable that calls the handler of each batch's topic; nil if topics have none.
      def handler = @options.handler

      # A sentence for each invalid option; needs no network.
      def errors = @options.errors

      # Sentences on what the installed librdkafka lacks, on a connection pool that is smaller than
      # `threads`, and on dangerous options; needs no network.
      def warnings
        [*Librdkafka::Bindings.warning, *Failure::DatabasePool.warning(threads), *@options.warnings,
         *Swarm::Processes::RailsHook.load]
      end

      # The options as plain data, without secrets.
      def facts = @options.facts

      # The number of handlers that run at a time in a node.
      def threads = @options.threads

      # Processes messages on the calling thread until the node stops. Raises a BootError if it
      # can't start.
      def run(node, handler)
        raise ConfigurationError.new(sentences: errors) unless errors.empty?

        Consumer::GroupMember.run(@options, node, handler)
      end

      # Returns a sentence on the group that nodes with these ids join, for `skep check`.
      def __membership(swarm, ids)
        settings = ids.minmax.uniq.map { |id| @options.member_settings(swarm, id) }
        names = settings.map { |one| one["group.instance.id"] }
        static = "static members #{names.join(" to ")}, " \
                 "which #{@options.leave_on_stop ? "leave" : "keep their places"} at a stop"
        "consumer group #{@options.group}, topics #{@options.topics.join(", ")}: " \
          "#{names.first ? static : "dynamic members"}"
      end

      # Which topics' messages are retried without end, for `skep check`; nil: none are.
      def __endless_retries
        topics = @options.all.reject(&:dead_letter_topic).flat_map(&:topics)
        return if topics.empty?

        "no dead_letter_topic for #{topics.join(", ")}: a message that keeps failing is retried " \
          "until it succeeds, and holds up its #{@options.by_key? ? "key" : "partition"}"
      end

      # Returns the size of a node's page for its progress; nil without one.
      def __progress_cells
        Consumer::MemberProgress::CELLS if Consumer::MemberProgress.of_use?(@options)
      end

      # For the admin client and for tests.
      def __options = @options

      def inspect
        "#<Skep::Kafka::Source #{@options.topics.join(",")} group=#{@options.group} " \
          "brokers=#{@options.settings.brokers}>"
      end
    end
  end
end
