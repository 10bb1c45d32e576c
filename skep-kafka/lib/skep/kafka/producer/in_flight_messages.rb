# frozen_string_literal: true

# The messages of a producer that the brokers haven't acknowledged yet, and the threads that wait
# for them. Thread-safe.
#
#   in_flight = InFlightMessages.new(client) { |handle| … }   # yields unclaimed failures
#   in_flight.add(handle) { |tag| client.put(…, tag:) }       # => 0, or the error code of `put`
#   in_flight.acknowledge([[0, 3, 17, tag], …])               # error code, partition, offset, tag
#   in_flight.wait(5) { handle.done? }                        # => true, or false after 5 s
#   in_flight.flush_until(5) { handle.done? }                 # likewise, whatever linger.ms is
module Skep
  module Kafka
    class Producer
      class InFlightMessages
        # rd_kafka_flush can't be interrupted, and returns only when no thread's messages are left.
        # Short slices let a waiting thread time out, be killed, or leave when its own are done.
        SLICE = 0.02 # seconds
        private_constant :SLICE

        attr_reader :delivered # since the producer was made
        attr_reader :failed # since the producer was made

        # client: flushed while a thread waits; nil if linger.ms is so short that it isn't needed.
        def initialize(client = nil, &on_failure)
          @client = client
          @on_failure = on_failure
          @lock = Mutex.new
          @flush_lock = Mutex.new
          @changed = ConditionVariable.new
          @handles = {}
          @generation = OS::Generation.count
          @last_tag = @delivered = @failed = 0
        end

        # Calls the block with a tag for the message. Returns its error code, or nil after #close.
        def add(handle)
          @lock.synchronize do
            next if @closed

            code = yield tag = @last_tag += 1
            @handles[tag] = handle if code.zero?
            code
          end
        end

        # Accepts no more messages.
        def close = @lock.synchronize { @closed = true }

        def acknowledge(reports)
          failures = @lock.synchronize do
            @changed.broadcast
            reports.filter_map { |report| resolve(*report) }
          end
          failures.each(&@on_failure)
        end

        # Waits up to `seconds` (nil: no limit) until the block returns true; calls it after each
        # acknowledgement. Raises ForkedProducer in a forked child, where none arrives.
        def wait(seconds)
          deadline = seconds && OS.now + seconds
          @lock.synchronize do
            until (done = yield) || (deadline && (left = deadline - OS.now) <= 0)
              raise ForkedProducer unless @generation == OS::Generation.count

              @changed.wait(@lock, left)
            end
            done
          end
        end

        # Waits like #wait; meanwhile librdkafka sends what linger.ms would hold back.
        def flush_until(seconds, &done)
          deadline = OS.now + seconds
          until (finished = wait(0, &done)) || (left = deadline - OS.now) <= 0
            @client ? flush_slice([SLICE, left].min, &done) : wait(left, &done)
          end
          finished
        end

        # Waits until no thread is in rd_kafka_flush, and lets none enter it again: call it before
        # the client is destroyed.
        def release_client = @flush_lock.synchronize { @client = nil }

        # Flushes what is in flight now, not what other threads add meanwhile. Returns how many of
        # these messages are not acknowledged after `seconds`.
        def flush(seconds)
          last = @lock.synchronize { @last_tag } # waits for a thread that is adding a message
          flush_until(seconds) { (@handles.first&.first || last + 1) > last } unless empty?
          @lock.synchronize { @handles.each_key.take_while { |tag| tag <= last }.size }
        end

        # No caller claims the handle any more, once the block has run: a failure is reported.
        def release(handle)
          failed = @lock.synchronize do
            yield
            handle.error && !handle.heard?
          end
          @on_failure.call(handle) if failed
        end

        def acknowledged = delivered + failed
        def size = @handles.size
        def empty? = @handles.empty?

        private

        # Only one thread at a time flushes; the others wait for their acknowledgements.
        def flush_slice(seconds, &)
          raise ForkedProducer unless @generation == OS::Generation.count

          flushing = @flush_lock.try_lock
          flushing ? @client&.flush((seconds * 1000).ceil) : wait(seconds, &)
        ensure
          @flush_lock.unlock if flushing
        end

        # Returns the handle if its message failed and no caller claims it.
        def resolve(code, partition, offset, tag)
          handle = @handles.delete(tag) or return
          if code.zero?
            @delivered += 1
            handle.__arrived(partition, offset)
            nil
          else
            mark_failed(handle, code)
          end
        end

        def mark_failed(handle, code)
          @failed += 1
          cause = Librdkafka::Bindings.err2str(code)
          handle.__failed(DeliveryFailed.new(topic: handle.topic, code:, cause:))
          handle unless handle.claimed?
        end
      end
    end
  end
end
