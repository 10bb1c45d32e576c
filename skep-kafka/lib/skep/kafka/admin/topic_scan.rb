# frozen_string_literal: true

# Reads all messages that a topic has now, and deletes from its beginning. It joins no group and
# commits nothing.
#
#   scan = TopicScan.new("orders.dead", settings, seconds: 15)
#   scan.connect                   # raises BrokerUnreachable, AuthorizationError or UnknownTopic
#   scan.bounds                    # => { 0 => 20...120, 1 => 0...7 }, what partitions have now
#   scan.each(0, 20...120) { |message| … }   # the partition's messages with these offsets
#   scan.delete_before(0, 120)     # raises DeletionRefused where the topic's policy forbids it
#   scan.partitions("orders")      # => 8; nil if there is no such topic
#   scan.close
module Skep
  module Kafka
    module Admin
      class TopicScan
        LIMIT = 500 # messages of a read
        SILENCE = 1.0 # seconds without messages, after which they may have been deleted
        NESTED = "a scan of %s is in progress: end it first (collect what it yields)"
        GROUP = "skep.topic-scan" # librdkafka's consumers have a name, even without a group
        private_constant :LIMIT, :SILENCE, :NESTED, :GROUP

        attr_reader :topic

        # seconds: how long to wait for a broker each time.
        def initialize(topic, settings, seconds:)
          @topic, @settings, @seconds = topic, settings, seconds
        end

        def connect
          admin_client = AdminClient.new(GROUP, @settings, seconds: @seconds)
          admin_client.connect
          @consumer = Consumer.new({ **@settings.admin(GROUP), "auto.offset.reset" => "earliest" })
          @wakeup_pipe = Librdkafka::WakeupPipe.new
          @count = partitions(topic) or raise UnknownTopic.new(topic:, brokers:)
        ensure
          admin_client&.close
        end

        def bounds
          all = Array.new(@count) { |number| find(number, :beginning)...find(number, :end) }
          all.each_with_index.to_h { |range, number| [number, range] }.reject { |_, one| one.none? }
        end

        def each(number, range, &)
          raise ArgumentError, format(NESTED, topic) if @reading

          begin
            @reading = true
            read_all(number, range, &)
          ensure
            @reading = false
          end
        end

        # The messages before that offset are gone for all readers. With that of the first message
        # it deletes nothing, and is refused all the same.
        def delete_before(number, offset)
          answers = @consumer.queue
          requests = Librdkafka::AdminRequests
          requests.delete_records(@consumer, answers, [[topic, number, offset]],
                                  requests::NO_TIMEOUT)
          code = answers.wait(@seconds) { |event| requests.records_deleted_in(event) } or
            raise unreachable
          return if code.zero?

          raise DeletionRefused.new(topic:, cause: Librdkafka::Bindings.err2str(code),
                                    deletes: !Librdkafka::ErrorCode::UNSUPPORTED.include?(code))
        ensure
          answers&.close
        end

        def close
          @consumer&.close
          @wakeup_pipe&.close
        end

        def partitions(name)
          query = Librdkafka::MetadataQuery.new(@consumer, [name])
          query.start
          query.io.wait_readable(@seconds) or raise unreachable
          code, count = query.answer.fetch(name)
          return if code == Librdkafka::ErrorCode::UNKNOWN_TOPIC_OR_PART
          raise refused(name, code) unless code.zero?

          count
        ensure
          query&.close
        end

        def inspect = "#<Skep::Kafka::Admin::TopicScan #{topic}>"

        private

        def find(number, place) = @consumer.find([topic, number], place, @seconds)

        def read_all(number, range)
          reader = @consumer.reader(topic, number, limit: LIMIT)
          reader.notify(@wakeup_pipe, number)
          assign([[topic, number, range.begin]])
          while (reader.next_offset || range.begin) < range.end
            messages = read(reader, number, range.end) or break
            messages.each { |message| yield message if range.cover?(message.offset) }
          end
        ensure
          assign([])
          reader&.close
        end

        def assign(places)
          Librdkafka::TopicPartitionList.make(places) { |list| @consumer.assign(list) }
        end

        # Waits for messages if none have been fetched. Returns nil if they are gone: another
        # program, or the topic's retention, has deleted them.
        def read(reader, number, last)
          deadline = OS.now + @seconds
          Kernel.loop do
            before = reader.next_offset
            messages, errors, = reader.read(LIMIT)
            raise unreadable(errors.first) if errors.any?
            return messages if !messages.empty? || reader.next_offset != before
            raise unreachable if OS.now > deadline
            return if !wait && find(number, :beginning) >= last
          end
        end

        # Returns nil after a while without anything new.
        def wait
          @consumer.control.drain { |_event| nil }
          ready = IO.select([@wakeup_pipe.io, @consumer.control.io], nil, nil, SILENCE)
          @wakeup_pipe.drain
          ready
        end

        def unreadable(error)
          LibrdkafkaError.new(call: "reading #{topic}", text: @settings.redact(error[1].to_s))
        end

        def unreachable
          BrokerUnreachable.new(brokers:, seconds: @seconds, cause: nil, patience: "--timeout")
        end

        def refused(name, code)
          cause = Librdkafka::Bindings.err2str(code)
          if code == Librdkafka::ErrorCode::TOPIC_AUTHORIZATION_FAILED
            return AuthorizationError.new(what: :topic, name:, brokers:, cause:)
          end

          LibrdkafkaError.new(call: "the request about #{name}", text: cause)
        end

        def brokers = @settings.brokers
      end
    end
  end
end
