# frozen_string_literal: true

# Work that comes out of Kafka topics.
#
#   source = Skep::Kafka::Source.new(kafka: { "bootstrap.servers": "kafka-1:9092" },
#                                    group: "billing", topics: ["orders"], threads: 5)
#   swarm.work(source) { |batch, child| batch.each { |message| … } }
#
# | option | default | |
# |---|---|---|
# | kafka | | librdkafka's settings, under its names |
# | group, topics | | the consumer group; a topic, several, or patterns that begin with ^ |
# | threads | 1 | handlers at a time in a node; a partition is with one of them, unless by key |
# | ordered_by | :partition | :key, or a callable that gives a message's key |
# | ahead | 5000 | by key: messages beyond the lowest unfinished one at most |
# | filter | none | a callable; what it is false for is done without a handler |
# | batch | 500 | messages handed over at once, at most |
# | max_wait | 0 | seconds a smaller batch may wait for more messages |
# | commit_every | 5.0 | seconds between commits of what is done; also at a rebalance and the end |
# | rebalance_wait | 80% of max.poll.interval.ms | seconds that a revocation waits for handlers |
# | retry_backoff | 0.1 | seconds until a batch whose handler raised is tried again; doubles to 30 |
# | dead_letter | none | the topic for messages that failed; without it they are tried for ever |
# | attempts | 5 | how often a message fails before it goes there |
# | retry_for | 300 | seconds it fails first, unless others of its partition succeed; nil: none |
# | poison | :dead_letter, :pause without one | what becomes of a message that crashed three nodes |
# | producer | {} | librdkafka's settings for child.producer, over those of kafka |
# | transactional | false | outputs and offset of a batch in one transaction: true, or their name |
# | connect_timeout | 15 | seconds until a boot without a broker is given up; nil: wait for ever |
#
# At least once: an offset is committed only after the handler returned. What is wrong with the
# options is in `errors`.
module Skep
  module Kafka
    class Source
      def initialize(**options)
        @options = Config::SourceOptions.new(**options)
      end #: (**untyped) -> void

      # What is wrong with the options, a sentence each; needs no network.
      def errors = @options.errors #: () -> Array[String]

      # Plain data without secrets.
      def facts = @options.facts #: () -> Hash[Symbol, untyped]

      # How many handlers work at a time in a node.
      def threads = @options.threads #: () -> Integer

      # A node's whole work, on the calling thread; returns at stop. Raises a BootError where it
      # can't begin.
      def run(child, handler) #: (Child, Proc) -> void
        raise ConfigurationError.new(sentences: errors) unless errors.empty?

        Consumer::GroupMember.new(@options, child, handler).run
      end

      # For who asks the same cluster something, or works without one.
      def __options = @options #: () -> Config::SourceOptions

      def inspect #: () -> String
        "#<Skep::Kafka::Source #{@options.topics.join(",")} group=#{@options.group} " \
          "brokers=#{@options.settings.brokers}>"
      end
    end
  end
end
