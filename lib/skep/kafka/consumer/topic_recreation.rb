# frozen_string_literal: true

# Notices that a topic has been deleted and made again: it has another id then. librdkafka (2.11)
# doesn't mind, and goes on at the old offset, in the midst of the new topic.
#
#   topic_recreation = TopicRecreation.new(consumer)
#   topic_recreation.ask(["orders"])     # at an assignment, and after each commit: nothing waits
#   topic_recreation.io                  # readable when there is an answer
#   topic_recreation.found               # => ["orders"]: those that aren't the ones of before
#   topic_recreation.close
#
# Who reads nothing commits nothing, and needn't know. (There is no other sign of it: where a topic
# is made again at once, its partitions stay assigned, and nothing fails.)
#
# Only the same new id in two answers counts. The zero id is no id: librdkafka reports it for a
# broker that doesn't tell ids (before Kafka 2.8), such as one of a cluster that is being upgraded.
module Skep
  module Kafka
    class Consumer
      class TopicRecreation
        SECONDS = 3600.0 # a request that librdkafka itself gives up can abort the process
        ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
        private_constant :SECONDS, :ZERO

        def initialize(consumer) #: (Consumer) -> void
          @consumer = consumer
          @answers = consumer.queue
          @ids = {}
          @unconfirmed = {}
        end

        def io = @answers.io #: () -> IO

        def ask(topics) #: (Array[String]) -> void
          return if @asked || topics.empty?

          Librdkafka::AdminRequests.describe_topics(
            @consumer, @answers, topics, Librdkafka::AdminRequests::NO_TIMEOUT
          )
          @asked = true
        end

        def found #: () -> Array[String]
          news = {}
          @answers.drain { |event| news.update(Librdkafka::AdminRequests.topic_ids_in(event)) }
          @asked = false
          look(news.reject { |_, id| id == ZERO }).tap { ask(@unconfirmed.keys) }
        end

        # Asks no more, whoever tells it to.
        def close #: () -> void
          @asked = true
          @answers.close
        end

        private

        # The topics whose new id is confirmed.
        def look(news)
          others = news.reject { |topic, id| @ids.fetch(topic, id) == id }
          confirmed = others.select { |topic, id| @unconfirmed[topic] == id }
          @unconfirmed = others.except(*confirmed.keys)
          @ids.update(news.except(*@unconfirmed.keys))
          confirmed.keys
        end
      end
    end
  end
end
