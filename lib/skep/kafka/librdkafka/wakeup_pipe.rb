# frozen_string_literal: true

# How the thread that listens is woken: a pipe into which numbers are written, by librdkafka's
# threads those of partitions with new messages, by ours 0 for "look up".
#
#   wakeup_pipe.ring(7)       # or librdkafka, told by wakeup_pipe.told_by(queue, 7)
#   child.wait_for([wakeup_pipe.io])
#   wakeup_pipe.heard         # => [7]
module Skep
  module Kafka
    module Librdkafka
      class WakeupPipe
        attr_reader :io #: IO

        def initialize
          @io, @cord = OS.pipe
          @cord.nonblock = true
          @read = +"" # a new one would be 64 KiB each time
        end

        # Lets librdkafka ring with this number when something comes into the empty queue.
        def told_by(queue, number) #: (FFI::Pointer, Integer) -> void
          Bindings.queue_io_event_enable(queue, @cord.fileno, [number].pack("L"), 4)
        end

        # Nobody need be told twice to look up: many who say so while nobody listens would fill the
        # pipe, and what librdkafka rings then would be lost.
        def ring(number = 0) #: (?Integer) -> void
          return if number.zero? && @told

          @told = true if number.zero?
          @cord.write_nonblock([number].pack("L"), exception: false)
        end

        # The numbers rung since the last time, each once.
        def heard #: () -> Array[Integer]
          rung = @io.read_nonblock(65_536, @read, exception: false)
          @told = false # not before: who rings between these lines is heard of now
          rung.is_a?(String) ? rung.unpack("L*").uniq : []
        end

        def close = [@io, @cord].each(&:close) #: () -> void
      end
    end
  end
end
