# frozen_string_literal: true

# Replaces the cluster in a test run: the log of each partition, the consumer that would commit its
# offsets, the handlers' producer and the dead letter queue.
module Skep
  module Kafka
    module Testing
      # The messages of one partition, read as from a Librdkafka::PartitionQueue.
      class FakeLog
        def initialize(messages)
          @all = messages.sort_by(&:offset)
          @next = 0
        end

        def read(limit)
          messages = @all[@next, limit]
          @next += messages.size
          [Librdkafka::MessageSet.new(messages), [], messages.size]
        end

        # Continues at the place that Batch#seek was given, and returns its offset.
        def seek(place)
          @next = index(place)
          @next < @all.size ? @all[@next].offset : self.end
        end

        def end = @all.last.offset + 1
        def notify(_wakeup_pipe, _number) = nil
        def position = nil
        def leader_epoch = nil
        def low_watermark = nil
        def close = nil
        def inspect = "#<Skep::Kafka::Testing::FakeLog messages=#{@all.size}>"

        private

        def index(place)
          case place
          when :beginning then 0
          when :end then @all.size
          when Time then @all.index { |one| (one.timestamp || place) >= place } || @all.size
          else @all.index { |one| one.offset >= place } || @all.size
          end
        end
      end

      # Keeps the offsets that a worker stores.
      class FakeConsumer
        attr_reader :stored

        def initialize(logs)
          @logs = logs
          @stored = {}
        end

        def store(topic, number, offset, _epoch = nil, _metadata = nil)
          @stored[[topic, number]] = offset
          true
        end

        # A commit that has its answer already.
        Committed = Struct.new(:code) do
          def wait(_seconds) = code
        end
        private_constant :Committed

        def commit(offsets, seconds) = begin_commit(offsets).wait(seconds)

        def begin_commit(offsets)
          offsets.each { |entry| store(*entry.first(4)) }
          Committed.new(0)
        end

        def end_of(topic, number) = @logs[[topic, number]]&.end
        def ends(_keys, _seconds) = {}
        def committed(_keys, _seconds) = {}
        def starts(_keys, _seconds) = {}
        def lost? = false
        def inspect = "#<Skep::Kafka::Testing::FakeConsumer #{@stored}>"
      end

      # A message that a handler has produced.
      ProducedMessage = Struct.new(:topic, :payload, :key, :headers, :partition, :timestamp)

      # Replaces `node.producer` in tests. Each message is delivered at once.
      #
      #   producer.produce("out", "payload", key: "k").wait    # => its DeliveryReport
      class FakeProducer
        include Producer::ProduceMethods

        # Replaces DeliveryHandle: the message is delivered.
        Delivery = Struct.new(:report) do
          def wait(timeout: nil) # rubocop:disable Lint/UnusedMethodArgument -- as the real one
            report
          end

          def done? = true
          def heard? = false
          def claimed? = true
          def error = nil
          def topic = report.topic
        end
        private_constant :Delivery

        def initialize(produced, transactional: false, serializer: nil)
          @serializer = Producer::ProduceMethods.serializer(serializer)
          @produced = produced
          @transactional = transactional
          @offsets = Hash.new(-1)
        end

        def __produce(topic, payload, key: nil, headers: nil, partition: nil, timestamp: nil)
          Producer::ProduceMethods.check(topic.to_s, payload, key, partition, headers)
          Producer::ProduceMethods.milliseconds(timestamp)
          headers ||= {}
          message = ProducedMessage.new(topic.to_s, payload, key, headers, partition, timestamp)
          (@begun || @produced) << message
          at = [topic.to_s, partition || 0]
          Delivery.new(DeliveryReport.new(*at, @offsets[at] += 1))
        end

        def flush(_seconds) = 0

        # Called by the worker. Outputs of a transaction are visible once it is committed.

        def transactional? = @transactional
        def init_transactions = nil

        def begin_batch
          @begun = [] if @transactional
        end

        def end_batch(_partition, _offset)
          @produced.concat(@begun.to_a)
          @begun = nil
          true
        end

        def abort_batch = @begun = nil
        def inspect = "#<Skep::Kafka::Testing::FakeProducer produced=#{@produced.size}>"
      end

      # Makes a producer for each worker of a test run.
      FakeProducers = Struct.new(:produced, :options) do
        def for_thread(node, _thread)
          how = { transactional: options.transactional, serializer: options.serializer }
          FakeProducer.new(produced, **how).tap { |producer| node.__lend(producer) }
        end
      end

      # Keeps the messages that would be written to the dead letter topic, with their headers.
      class FakeDeadLetterQueue < Failure::DeadLetterQueue
        attr_reader :messages # the original messages
        attr_reader :written

        def initialize(settings, node)
          super
          @messages = []
          @written = []
        end

        def put(message, error, to:, attempts:, crashes: nil, through: nil) # rubocop:disable Lint/UnusedMethodArgument -- as the real one
          headers = headers(message, error, "skep.attempts" => attempts.to_s,
                                            "skep.crashes" => crashes&.to_s)
          @messages << message
          @written << ProducedMessage.new(to, message.payload, message.key, headers)
        end

        def close = nil
      end
    end
  end
end
