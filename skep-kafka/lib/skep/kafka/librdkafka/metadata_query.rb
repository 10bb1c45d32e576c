# frozen_string_literal: true

# Requests topics' metadata on a background thread, since librdkafka's call blocks.
#
#   query = MetadataQuery.new(consumer, ["orders"])
#   query.start
#   node.wait_for([query.io], 15)
#   query.answer     # => { "orders" => [error code, number of partitions] }, nil without a broker
#   query.close
#
# Patterns aren't requested: for those alone any broker's answer will do.
module Skep
  module Kafka
    module Librdkafka
      class MetadataQuery
        SECONDS = 1.0 # that one request may take, and `close`
        private_constant :SECONDS

        attr_reader :io # readable when there is an answer

        def initialize(client, names)
          @client = client
          @names = names.reject { |name| name.start_with?("^") }
          @io, @done = OS.pipe
        end

        def start
          @thread = Threads::Background.new("kafka.metadata") { run }
        end

        def answer = @failure ? raise(@failure) : @answer

        def close
          @closing = true
          @thread&.close
          [@io, @done].each { |end_| end_.close unless end_.closed? }
        end

        private

        def run
          found = {}
          (@names.empty? ? [nil] : @names).each do |name|
            found[name] = look_up(name) or return
          end
          @answer = found.compact
        rescue StandardError => e # `answer` raises it
          @failure = e
        ensure
          @done.close
        end

        # Repeats the request until a broker answers or `close` is called.
        def look_up(name)
          topic = name && Bindings.topic_new(@client.handle, name, nil)
          until @closing
            code, found = metadata(topic)
            return found if found
            return [code, 0] unless ErrorCode::CONNECTION.include?(code)
          end
        ensure
          Bindings.topic_destroy(topic) if topic
        end

        def metadata(topic)
          slot = FFI::MemoryPointer.new(:pointer)
          code = Bindings.metadata(@client.handle, 0, topic, slot, (SECONDS * 1000).to_i)
          return [code, nil] unless code.zero?

          answer = slot.read_pointer
          [0, topic ? read(answer) : [0, 0]]
        ensure
          Bindings.metadata_destroy(answer) if answer
        end

        def read(answer)
          metadata = Bindings::Structs::Metadata.new(answer)
          return [ErrorCode::UNKNOWN_TOPIC_OR_PART, 0] if metadata[:topic_cnt].zero?

          topic = Bindings::Structs::MetadataTopic.new(metadata[:topics])
          [topic[:err], topic[:partition_cnt]]
        end
      end
    end
  end
end
