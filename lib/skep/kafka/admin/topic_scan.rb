# frozen_string_literal: true

# Reads all messages that a topic has now, and deletes from its beginning. It joins no group and
# commits nothing.
#
#   scan = TopicScan.new("orders.dead", settings, seconds: 15)
#   scan.connect                   # raises BrokerUnreachable, AuthorizationError or UnknownTopic
#   scan.ends                      # => { 0 => 120, 1 => 7 }, of partitions that have messages
#   scan.each(0, 120) { |message| … }   # the partition's messages before that offset
#   scan.delete_before(0, 120)     # deletes them
#   scan.close
module Skep
  module Kafka
    module Admin
      class TopicScan
        LIMIT = 500 # messages of a read
        GROUP = "skep.topic-scan" # librdkafka's consumers have a name, even without a group
        private_constant :LIMIT, :GROUP

        attr_reader :topic
        attr_reader :ends # by partition: the offset after its last message

        # seconds: how long to wait for a broker each time.
        def initialize(topic, settings, seconds:)
          @topic, @settings, @seconds = topic, settings, seconds
        end

        def connect
          admin_client = AdminClient.new(GROUP, @settings, seconds: @seconds)
          admin_client.connect
          @consumer = Consumer.new({ **@settings.admin(GROUP), "auto.offset.reset" => "earliest" })
          @wakeup_pipe = Librdkafka::WakeupPipe.new
          bounds = Array.new(partitions) { |number| [number, first(number), last(number)] }
          @first = bounds.to_h { |number, first, _| [number, first] }
          @ends = bounds.filter_map { |number, first, last| [number, last] if last > first }.to_h
        ensure
          admin_client&.close
        end

        def each(number, last)
          reader = @consumer.reader(topic, number, limit: LIMIT)
          reader.notify(@wakeup_pipe, number)
          assign([[topic, number, @first.fetch(number)]])
          while (reader.next_offset || @first.fetch(number)) < last
            read(reader).each { |message| yield message if message.offset < last }
          end
        ensure
          assign([])
          reader&.close
        end

        # The messages before that offset are gone for all readers.
        def delete_before(number, offset)
          answers = @consumer.queue
          requests = Librdkafka::AdminRequests
          requests.delete_records(@consumer, answers, [[topic, number, offset]],
                                  requests::NO_TIMEOUT)
          code = answers.wait(@seconds) { |event| requests.records_deleted_in(event) } or
            raise unreachable
          raise refused(code) unless code.zero?

          @first[number] = offset
        ensure
          answers&.close
        end

        def close
          @consumer&.close
          @wakeup_pipe&.close
        end

        def inspect = "#<Skep::Kafka::Admin::TopicScan #{topic}>"

        private

        def partitions
          query = Librdkafka::MetadataQuery.new(@consumer, [topic])
          query.start
          query.io.wait_readable(@seconds) or raise unreachable
          code, count = query.answer.fetch(topic)
          raise UnknownTopic.new(topic:, brokers:) if code == Librdkafka::ErrorCode::UNKNOWN_TOPIC_OR_PART
          raise refused(code) unless code.zero?

          count
        ensure
          query&.close
        end

        def first(number) = @consumer.find([topic, number], :beginning, @seconds)
        def last(number) = @consumer.find([topic, number], :end, @seconds)

        def assign(places)
          Librdkafka::TopicPartitionList.make(places) { |list| @consumer.assign(list) }
        end

        # Waits for messages if none have been fetched.
        def read(reader)
          deadline = OS.now + @seconds
          Kernel.loop do
            before = reader.next_offset
            messages, errors, = reader.read(LIMIT)
            raise unreadable(errors.first) if errors.any?
            return messages if !messages.empty? || reader.next_offset != before
            raise unreachable if OS.now > deadline

            @consumer.control.drain { |_event| nil }
            IO.select([@wakeup_pipe.io, @consumer.control.io], nil, nil, deadline - OS.now)
            @wakeup_pipe.drain
          end
        end

        def unreadable(error)
          LibrdkafkaError.new(call: "reading #{topic}", text: @settings.redact(error[1].to_s))
        end

        def unreachable
          BrokerUnreachable.new(brokers:, seconds: @seconds, cause: nil, patience: "--timeout")
        end

        def refused(code)
          cause = Librdkafka::Bindings.err2str(code)
          if code == Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED
            return AuthorizationError.new(what: :topic, name: topic, brokers:, cause:)
          end

          LibrdkafkaError.new(call: "the request about #{topic}", text: cause)
        end

        def brokers = @settings.brokers
      end
    end
  end
end
