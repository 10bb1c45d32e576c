# frozen_string_literal: true

# The messages of a producer that are on their way, and who waits for them.
#
#   in_flight = InFlightMessages.new { |delivery| … }           # called with each that failed and isn't claimed
#   in_flight.post(delivery) { |tag| send_with(tag) }  # => 0; an error code: then it isn't in
#   in_flight.answer([[0, 3, 17, tag], …])             # error code, partition, offset, tag
#   in_flight.wait(5) { delivery.done? }               # => was it, in time?
#   in_flight.hasten(5) { in_flight.empty? }              # likewise, and nothing waits for a fuller batch
#
# For several threads.
module Skep
  module Kafka
    class Producer
      class InFlightMessages
        attr_reader :delivered #: Integer, in all
        attr_reader :failed #: Integer, in all
        attr_writer :hurry #: LingerFlush?, where librdkafka holds messages back for long

        def initialize(&lost) #: () { (DeliveryHandle) -> void } -> void
          @lost = lost
          @lock = Mutex.new
          @moved = ConditionVariable.new
          @open = {}
          @generation = OS::Generation.count
          @tags = @delivered = @failed = 0
        end

        # The block's code; nil once it is closed.
        #: (DeliveryHandle) { (Integer) -> Integer } -> Integer?
        def post(delivery)
          @lock.synchronize do
            next if @closed

            code = yield tag = @tags += 1
            @open[tag] = delivery if code.zero?
            code
          end
        end

        # Takes no more.
        def close = @lock.synchronize { @closed = true } #: () -> void

        #: (Array[[Integer, Integer, Integer, Integer]]) -> void
        def answer(reports)
          lost = @lock.synchronize do
            @moved.broadcast
            reports.filter_map { |report| note(*report) }
          end
          lost.each(&@lost)
        end

        # Waits until the block is true, asking it at each answer. Raises ForkedProducer where none
        # will ever come.
        #: (Numeric?) { () -> bool } -> bool
        def wait(seconds)
          deadline = seconds && OS.now + seconds
          @lock.synchronize do
            until (done = yield) || (deadline && (left = deadline - OS.now) <= 0)
              raise ForkedProducer unless @generation == OS::Generation.count

              @moved.wait(@lock, left)
            end
            done
          end
        end

        # Waits likewise, and meanwhile nothing is held back for a fuller batch.
        def hasten(seconds, &done) #: (Numeric?) { () -> bool } -> bool
          @hurry ? @hurry.while { wait(seconds, &done) } : wait(seconds, &done)
        end

        # Nobody asks about it any more, once the block has run.
        def release(delivery) #: (DeliveryHandle) { () -> void } -> void
          lost = @lock.synchronize do
            yield
            delivery.error && !delivery.heard?
          end
          @lost.call(delivery) if lost
        end

        def answered = delivered + failed #: () -> Integer, in all
        def size = @open.size #: () -> Integer

        # Waits for what is in now, nothing being held back meanwhile, and not for what others put
        # in later. How many messages of it are left.
        def flush(seconds) #: (Numeric) -> Integer
          last = @lock.synchronize { @tags } # what another thread is just putting in is in by then
          hasten(seconds) { (@open.first&.first || last + 1) > last } unless empty?
          @lock.synchronize { @open.each_key.take_while { |tag| tag <= last }.size }
        end

        def empty? = @open.empty? #: () -> bool

        private

        # Gives the delivery that failed, where nobody will ask about it.
        def note(code, partition, offset, tag)
          delivery = @open.delete(tag) or return
          if code.zero?
            @delivered += 1
            delivery.__arrived(partition, offset)
            nil
          else
            fail(delivery, code)
          end
        end

        def fail(delivery, code)
          @failed += 1
          delivery.__failed(DeliveryFailed.new(topic: delivery.topic, code:,
                                             cause: Librdkafka::Bindings.err2str(code)))
          delivery unless delivery.claimed?
        end
      end
    end
  end
end
