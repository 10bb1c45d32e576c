# frozen_string_literal: true

# Notices that a topic has been deleted and made again: it has another id then. librdkafka (2.11)
# doesn't mind, and goes on at the old offset, in the midst of the new topic.
#
#   namesakes = Namesakes.new(consumer)
#   namesakes.ask(["orders"])     # at an assignment, and after each commit: nothing waits
#   namesakes.io                  # readable when there is an answer
#   namesakes.found               # => ["orders"]: those that aren't the ones of before
#   namesakes.close
#
# Who reads nothing commits nothing, and needn't know.
module Skep
  module Kafka
    class Namesakes
      SECONDS = 3600.0 # a request that librdkafka itself gives up can abort the process
      private_constant :SECONDS

      def initialize(consumer) #: (Consumer) -> void
        @consumer = consumer
        @answers = consumer.queue
        @ids = {}
      end

      def io = @answers.io #: () -> IO

      def ask(topics) #: (Array[String]) -> void
        return if @asked || topics.empty?

        Requests.topics(@consumer, @answers, topics, SECONDS)
        @asked = true
      end

      def found #: () -> Array[String]
        news = {}
        @answers.drain { |event| news.update(Requests.ids_in(event)) }
        @asked = false
        others = news.keys.reject { |topic| @ids.fetch(topic, news[topic]) == news[topic] }
        @ids.update(news)
        others
      end

      # Asks no more, whoever tells it to.
      def close #: () -> void
        @asked = true
        @answers.close
      end
    end
    private_constant :Namesakes
  end
end
