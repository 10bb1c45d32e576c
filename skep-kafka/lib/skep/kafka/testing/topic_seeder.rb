# frozen_string_literal: true

# Fills a topic: for demos, benches and tests.
#
#   feed = Skep::Kafka::Testing::TopicSeeder.new("127.0.0.1:9092", "orders")
#   feed.create_topic(8)             # a real broker only; an embedded one has create_topic itself
#   feed.publish((1..1_000).map { |n| ["key#{n}", "payload"] })   # => 1000, once all are delivered
#   feed.publish(endless) { |sent| wait_for_readers(sent) }    # every PACE messages; may block
#   feed.close
#
# An item may name its partition: [key, payload, partition].
module Skep
  module Kafka
    module Testing
      class TopicSeeder
        PACE = 1_000 # messages between two calls of the block
        private_constant :PACE

        # timeout: maximum seconds that each call waits for the broker's answer.
        def initialize(bootstrap, topic, kafka: {}, timeout: 30)
          once = { "linger.ms" => 5, "enable.idempotence" => true }
          settings = Config::ClientConfig.new({ **once, **kafka, "bootstrap.servers" => bootstrap })
          raise ConfigurationError.new(sentences: settings.errors) unless settings.errors.empty?

          @topic = topic
          @timeout = timeout
          @brokers = settings.brokers
          @writer = Producer::SyncProducer.new(settings.producer)
        end

        # Creates the topic. Returns true, or false if it exists already. Raises LibrdkafkaError if
        # the brokers refuse that or don't answer.
        def create_topic(partitions, copies: 1)
          answers = @writer.queue
          requests = Librdkafka::AdminRequests
          requests.create_topic(@writer, answers, @topic, partitions, copies, @timeout)
          code, text = answers.wait(@timeout + 1) { |event| requests.created_in(event) }
          return code.zero? if [0, Librdkafka::ErrorCode::TOPIC_ALREADY_EXISTS].include?(code)

          raise LibrdkafkaError.new(call: "the new topic #{@topic}", text: text || late)
        ensure
          answers&.close
        end

        # Deletes the topic and its messages. Returns true, or false if the brokers refuse that or
        # don't answer.
        def delete_topic
          answers = @writer.queue
          Librdkafka::AdminRequests.delete_topic(@writer, answers, @topic, @timeout)
          deleted = answers.wait(@timeout + 1) do |event|
            Librdkafka::AdminRequests.deleted_in(event).first.zero?
          end
          deleted || false
        ensure
          answers&.close
        end

        # Writes the items, waits until all are delivered and returns their number. Raises
        # DeliveryFailed if the delivery of a message fails. Calls the block after every PACE
        # messages, with the number written so far.
        def publish(items)
          before = @writer.delivered
          sent = 0
          items.each do |key, payload, partition|
            @writer.put(@topic, key, payload, partition:)
            next unless ((sent += 1) % PACE).zero?

            @writer.poll
            yield sent if block_given?
          end
          arrived(before)
        end

        # Closes the producer. Messages that aren't delivered yet are lost.
        def close = @writer.close

        def inspect
          "#<Skep::Kafka::Testing::TopicSeeder #{@topic} brokers=#{@brokers}>"
        end

        private

        def late = "no answer within #{@timeout} s"

        def arrived(before)
          missing = @writer.flush(@timeout) + @writer.failed
          raise DeliveryFailed.new(topic: @topic, cause: @writer.cause || late) if missing.positive?

          @writer.delivered - before
        end
      end
    end
  end
end
