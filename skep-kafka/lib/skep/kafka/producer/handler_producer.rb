# frozen_string_literal: true

# The `node.producer` of one thread of a node. Its messages belong to the batch that the thread
# processes: the batch isn't done before the brokers have acknowledged all of them. The producer
# under it is shared with the node's other threads.
#
#   handler_producer = HandlerProducer.new(renewable_producer, node)
#   handler_producer.begin_batch                           # the handler is called now
#   handler_producer.produce("out", "payload")
#   handler_producer.end_batch(partition, offset)          # raises DeliveryFailed for failures
#   handler_producer.abort_batch                           # the handler raised
#
# A failure that the handler has seen itself (its `wait` raised) doesn't fail the batch.
# RenewableProducer replaces a producer after a fatal error; HandlerProducers has those of all
# threads, and flushes them at the node's stop.
module Skep
  module Kafka
    class Producer
      class HandlerProducer
        include ProduceMethods

        SLICE = 1.0 # seconds of a wait, after which it checks whether the node is stopping
        STOP_SECONDS = 10.0 # that a stopping node waits for deliveries
        private_constant :SLICE, :STOP_SECONDS

        # serializer: see Producer.
        def initialize(renewable_producer, node, serializer: nil)
          @serializer = ProduceMethods.serializer(serializer)
          @renewable_producer = renewable_producer
          @node = node
          @lock = Mutex.new
        end

        # Produces the payload as it is.
        def __produce(topic, payload, key: nil, headers: nil, partition: nil, timestamp: nil)
          more = { key:, headers:, partition:, timestamp:, claimed: true, node: @node }
          handle = @renewable_producer.producer.__produce(topic, payload, **more)
          @lock.synchronize { @handles&.push(handle) } || handle.__release
          handle
        end

        # Waits up to `seconds` for what the handler has produced so far. Returns how many messages
        # are not acknowledged.
        def flush(seconds)
          deadline = OS.now + seconds
          waiting = @lock.synchronize { @handles.to_a.reject(&:done?) }
          waiting.count { |handle| !handle.__await([deadline - OS.now, 0].max) }
        end

        # Called by the worker.

        # Returns true if end_batch commits the offset of the batch, too.
        def transactional? = false

        def begin_batch
          @batch_error = nil
          @handles = []
        end

        # Waits for the messages of the batch up to that offset; returns true. Once it has raised,
        # it raises the same error until the next begin_batch.
        def end_batch(_partition, _offset)
          raise @batch_error if @batch_error

          handles = take_handles
          handles.each { |handle| await(handle) }
          failed = handles.select { |handle| handle.error && !handle.heard? }
          failed.empty? || raise(delivery_error(failed))
        rescue DeliveryFailed => e
          @batch_error = e
          handles&.each { |handle| handle.__release unless handle.done? }
          @renewable_producer.renew
          raise
        end

        # Messages in flight are still sent; their failures are reported.
        def abort_batch
          @batch_error = nil
          take_handles.each(&:__release)
        end

        def inspect
          "#<Skep::Kafka::Producer::HandlerProducer of #{@node.inspect}>"
        end

        private

        # The messages produced from here on don't belong to the batch.
        def take_handles
          @lock.synchronize { @handles.to_a.tap { @handles = nil } }
        end

        # Waiting for a broker does not count as a hang.
        def waiting_for_broker(&) = @node.busy(for: SLICE * 5, &)

        def await(handle)
          return if handle.done?

          until waiting_for_broker { handle.__await(SLICE) }
            check_stop(handle.topic) if @node.stopping?
          end
        end

        # A stopping node doesn't wait for ever: the batch isn't done then, and is delivered again.
        def check_stop(topic)
          @stop_at ||= OS.now + [STOP_SECONDS, (@node.time_left || STOP_SECONDS) / 2].min
          return if OS.now < @stop_at

          raise DeliveryFailed.new(topic:, cause: "no answer, and the node is stopping")
        end

        def delivery_error(failed)
          first = failed.first
          DeliveryFailed.new(topic: first.topic, count: failed.size, cause: first.error.why,
                             code: first.error.code)
        end
      end
    end
  end
end
