# frozen_string_literal: true

# Detects that a topic was deleted and created again, by its topic id. librdkafka (2.11) doesn't: it
# continues at the old offset, in the middle of the new topic.
#
#   topic_recreation = TopicRecreation.new(consumer)
#   topic_recreation.query(["orders"])   # at an assignment and after each commit; doesn't wait
#   topic_recreation.io                  # readable when there is an answer
#   topic_recreation.recreated           # => ["orders"]
#   topic_recreation.close
#
# It asks after commits because there is no other sign: the partitions of a topic that is created
# again at once stay assigned, and no request fails. A node that reads nothing commits nothing, and
# needs no answer.
#
# A new id counts once two answers have it. The zero id is no id: librdkafka reports it for a broker
# before Kafka 2.8, also in a cluster that is being upgraded.
module Skep
  module Kafka
    class Consumer
      class TopicRecreation
        ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
        private_constant :ZERO

        def initialize(consumer) #: (Consumer) -> void
          @consumer = consumer
          @answers = consumer.queue
          @ids = {}
          @unconfirmed = {}
        end

        def io = @answers.io #: () -> IO

        def query(topics) #: (Array[String]) -> void
          return if @querying || topics.empty?

          Librdkafka::AdminRequests.describe_topics(
            @consumer, @answers, topics, Librdkafka::AdminRequests::NO_TIMEOUT
          )
          @querying = true
        end

        # Reads the answer.
        def recreated #: () -> Array[String]
          answer = {}
          @answers.drain { |event| answer.update(Librdkafka::AdminRequests.topic_ids_in(event)) }
          @querying = false
          confirmed = compare(answer.reject { |_, id| id == ZERO })
          query(@unconfirmed.keys)
          confirmed
        end

        # Sends no further request.
        def close #: () -> void
          @querying = true
          @answers.close
        end

        def inspect #: () -> String
          "#<Skep::Kafka::Consumer::TopicRecreation topics=#{@ids.size}>"
        end

        private

        # Returns the topics whose new id is confirmed.
        def compare(ids)
          changed = ids.reject { |topic, id| @ids.fetch(topic, id) == id }
          confirmed = changed.select { |topic, id| @unconfirmed[topic] == id }
          @unconfirmed = changed.except(*confirmed.keys)
          @ids.update(ids.except(*@unconfirmed.keys))
          confirmed.keys
        end
      end
    end
  end
end
