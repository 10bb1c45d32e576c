# frozen_string_literal: true

# Detects that a topic was deleted and created again, by its topic id. librdkafka doesn't: it
# continues at the old offset, in the middle of the new topic.
#
#   topic_recreation = TopicRecreation.new(consumer)
#   topic_recreation.query(["orders"])   # the topics of all assigned partitions, at an
#                                        # assignment and after commits; doesn't wait
#   topic_recreation.io                  # readable when there is an answer
#   topic_recreation.seconds_left; topic_recreation.due?   # for the next query
#   topic_recreation.recreated           # => ["orders"]
#   TopicRecreation.ids_of(consumer, ["orders"], 1.0)   # asked now: nil without an answer
#                                        # => { "orders" => "4WO1gjDwTeG0mHqVdd1Hgw" }
#   topic_recreation.ids_of(["orders"], 1.0)   # the same
#   topic_recreation.record(ids)         # the topics with these ids are read from here on
#   topic_recreation.origin("orders")    # => the OffsetOrigin of what is read of it; nil: not known
#   topic_recreation.close
#
# It asks after commits because there is no other sign: the partitions of a topic that is created
# again at once stay assigned, and no request fails. It asks every 5 s, too: a node that can't read
# the new topic commits nothing. A new id counts once two answers have it. The zero id is no id:
# librdkafka reports it for a broker before Kafka 2.8, also in a cluster that is being upgraded.
module Skep
  module Kafka
    class Consumer
      class TopicRecreation
        ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
        INTERVAL = 5.0 # seconds
        private_constant :ZERO, :INTERVAL

        # Waits so many seconds for the answer. A broker without topic ids answers with the zero id.
        def self.ids_of(consumer, topics, seconds)
          answers = consumer.queue
          Librdkafka::AdminRequests.describe_topics(
            consumer, answers, topics, Librdkafka::AdminRequests::NO_TIMEOUT
          )
          answers.wait(seconds) { |event| Librdkafka::AdminRequests.topic_ids_in(event) }
        ensure
          answers&.close
        end

        def initialize(consumer)
          @consumer = consumer
          @due = OS.now + INTERVAL
          @answers = consumer.queue
          @ids = {}
          @unconfirmed = {}
        end

        def io = @answers.io
        def seconds_left = ([@due - OS.now, 0].max unless @querying)
        def due? = !@querying && OS.now >= @due

        # The id of a topic that isn't read here any more says nothing when it is read again: its
        # reader may have begun with the new topic meanwhile.
        def query(topics)
          [@ids, @unconfirmed].each { |known| known.select! { |topic, _| topics.include?(topic) } }
          ask(topics)
        end

        # Reads the answer, if there is one.
        def recreated
          answer = nil
          @answers.drain { |event| answer = Librdkafka::AdminRequests.topic_ids_in(event) }
          return [] unless answer

          @querying = false
          confirmed = compare(answer.reject { |_, id| id == ZERO })
          ask(@unconfirmed.keys)
          confirmed
        end

        def ids_of(topics, seconds) = TopicRecreation.ids_of(@consumer, topics, seconds)

        # What is known already doesn't change.
        def record(ids) = @ids = ids.reject { |_, id| id == ZERO }.merge(@ids)

        # ids: of an answer.
        def origin(topic, ids = @ids)
          cluster, id = @consumer.cluster_id, ids[topic]
          Processing::OffsetOrigin.new(cluster, id) if cluster && id && id != ZERO
        end

        # Returns false for the embedded broker. librdkafka sends these requests to the cluster's
        # controller, and librdkafka's mock cluster has none.
        def answered? = !@consumer.cluster_id.to_s.start_with?("mockCluster")

        # Sends no further request.
        def close
          @querying = true
          @answers.close
        end

        def inspect = "#<Skep::Kafka::Consumer::TopicRecreation topics=#{@ids.size}>"

        private

        def ask(topics)
          return if @querying

          @due = OS.now + INTERVAL
          return if topics.empty?

          Librdkafka::AdminRequests.describe_topics(
            @consumer, @answers, topics, Librdkafka::AdminRequests::NO_TIMEOUT
          )
          @querying = true
        end

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
