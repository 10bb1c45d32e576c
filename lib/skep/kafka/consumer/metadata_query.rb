# frozen_string_literal: true

# Asks the cluster about the topics, on a thread of its own since librdkafka answers only to who
# waits.
#
#   topics = MetadataQuery.new(consumer, ["orders"])
#   topics.start
#   child.wait_for([topics.io], 15)
#   topics.answer     # => { "orders" => [error code, number of partitions] }, nil without a broker
#   topics.close
#
# MetadataQuery named by a pattern aren't asked for: any answer will do for those.
module Skep
  module Kafka
    class Consumer
      class MetadataQuery
        SECONDS = 1.0 # a question waits so long, and with it `close`
        private_constant :SECONDS

        attr_reader :io #: IO, readable when there is an answer

        def initialize(client, names)
          @client = client
          @names = names.reject { |name| name.start_with?("^") }
          @io, @done = OS.pipe
        end

        def start #: () -> void
          @thread = Threads::Background.new("kafka.topics") { ask }
        end

        #: () -> Hash[String, [Integer, Integer]]?
        def answer = @failure ? raise(@failure) : @answer

        def close #: () -> void
          @closing = true
          @thread&.close
          [@io, @done].each { |end_| end_.close unless end_.closed? }
        end

        private

        def ask
          found = {}
          (@names.empty? ? [nil] : @names).each do |name|
            found[name] = look_up(name) or return
          end
          @answer = found.compact
        rescue StandardError => e # raised again where the answer is waited for
          @failure = e
        ensure
          @done.close
        end

        # Puts the question until there is an answer or nobody wants it any more.
        def look_up(name)
          topic = name && Librdkafka::Bindings.topic_new(@client.handle, name, nil)
          until @closing
            code, found = metadata(topic)
            return found if found
            return [code, 0] unless Librdkafka::ErrorCode::CONNECTION.include?(code)
          end
        ensure
          Librdkafka::Bindings.topic_destroy(topic) if topic
        end

        def metadata(topic)
          slot = FFI::MemoryPointer.new(:pointer)
          code = Librdkafka::Bindings.metadata(@client.handle, 0, topic, slot,
                                               (SECONDS * 1000).to_i)
          return [code, nil] unless code.zero?

          answer = slot.read_pointer
          [0, topic ? read(answer) : [0, 0]]
        ensure
          Librdkafka::Bindings.metadata_destroy(answer) if answer
        end

        def read(answer)
          metadata = Librdkafka::Bindings::Structs::Metadata.new(answer)
          return [Librdkafka::ErrorCode::UNKNOWN_TOPIC_OR_PART, 0] if metadata[:topic_cnt].zero?

          topic = Librdkafka::Bindings::Structs::MetadataTopic.new(metadata[:topics])
          [topic[:err], topic[:partition_cnt]]
        end
      end
    end
  end
end
