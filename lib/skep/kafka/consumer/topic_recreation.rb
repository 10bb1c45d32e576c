# frozen_string_literal: true

# Detects that a topic was deleted and created again, by its topic id. librdkafka (2.11)
# doesn't: it continues at the old offset, in the middle of the new topic.
#
#   topic_recreation = TopicRecreation.new(consumer)
#   topic_recreation.query(["orders"])  # at an assignment and after commits; doesn't wait
#   topic_recreation.io                  # readable when there is an answer
#   topic_recreation.recreated           # => ["orders"]
#   topic_recreation.close
#
# It asks after commits because there is no other sign: the partitions of a topic that is created
# again at once stay assigned, and no request fails. A node that reads nothing commits nothing, and
# needs no answer. Of transactions TransactionCommits (below) says that some have committed.
#
# A new id counts once two answers have it. The zero id is no id: librdkafka reports it for a
# broker before Kafka 2.8, also in a cluster that is being upgraded.
module Skep
  module Kafka
    class Consumer
      class TopicRecreation
        ZERO = "AAAAAAAAAAAAAAAAAAAAAA"
        private_constant :ZERO

        def initialize(consumer)
          @consumer = consumer
          @answers = consumer.queue
          @ids = {}
          @unconfirmed = {}
        end

        def io = @answers.io

        def query(topics)
          return if @querying || topics.empty?

          Librdkafka::AdminRequests.describe_topics(
            @consumer, @answers, topics, Librdkafka::AdminRequests::NO_TIMEOUT
          )
          @querying = true
        end

        # Reads the answer.
        def recreated
          answer = {}
          @answers.drain { |event| answer.update(Librdkafka::AdminRequests.topic_ids_in(event)) }
          @querying = false
          confirmed = compare(answer.reject { |_, id| id == ZERO })
          query(@unconfirmed.keys)
          confirmed
        end

        # Sends no further request.
        def close
          @querying = true
          @answers.close
        end

        def inspect
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

      # Notices that transactions of this node have committed offsets: librdkafka reports its own
      # commits as events, but not those. Then it asks which offsets the group has.
      #
      #   commits = TransactionCommits.new(consumer, scheduler, group: "billing", interval: 5.0)
      #   commits.seconds_left
      #   commits.look      # every `interval`; => true if some have committed since, and it asks
      #   commits.io        # readable when there is an answer
      #   commits.entries   # => [["orders", 0, 42, 0], …] with offsets and error codes
      #   commits.close
      class TransactionCommits
        # Returns nil for a source without transactions.
        def self.for(options, consumer, scheduler)
          return unless options.transactional

          new(consumer, scheduler, group: options.group, interval: options.commit_interval)
        end

        def initialize(consumer, scheduler, group:, interval:)
          @consumer, @scheduler, @group, @interval = consumer, scheduler, group, interval
          @answers = consumer.queue
          @places = []
          @due = OS.now + interval
        end

        def io = @answers.io
        def seconds_left = [@due - OS.now, 0].max

        def look
          return false if OS.now < @due

          @due = OS.now + @interval
          before, @places = @places, @scheduler.certain.map { |entry| entry.first(3) }
          changed = @places - before
          ask(changed.map { |entry| entry.first(2) }) if changed.any?
          changed.any?
        end

        def entries
          @answers.enum_for(:drain).flat_map do |event|
            @asked = false
            event.code.zero? ? Librdkafka::AdminRequests.group_offsets_in(event) : []
          end
        end

        # Sends no further request.
        def close
          @asked = true
          @answers.close
        end

        def inspect = "#<Skep::Kafka::Consumer::TransactionCommits every #{@interval} s>"

        private

        def ask(keys)
          return if @asked

          Librdkafka::AdminRequests.group_offsets(
            @consumer, @answers, @group, keys, Librdkafka::AdminRequests::NO_TIMEOUT
          )
          @asked = true
        end
      end
    end
  end
end
