# frozen_string_literal: true

# A pipe that wakes a thread which waits for it: librdkafka's threads write the number of a
# partition that has new messages, skep's threads write 0.
#
#   wakeup_pipe.attach(queue, 7)    # librdkafka writes 7 when the empty queue gets a message
#   wakeup_pipe.wake                # from any thread
#   node.wait_for([wakeup_pipe.io])
#   wakeup_pipe.drain               # => [0, 7]
module Skep
  module Kafka
    module Librdkafka
      class WakeupPipe
        attr_reader :io

        def initialize
          @io, @writer = OS.pipe
          @writer.nonblock = true
          @buffer = +"" # reused: read_nonblock would allocate 64 KiB each time
        end

        def attach(queue, number)
          Bindings.queue_io_event_enable(queue, @writer.fileno, [number].pack("L"), 4)
        end

        # Writes 0 at most once until the next `drain`: many zeros would fill the pipe, and what
        # librdkafka writes after that would be lost.
        def wake(number = 0)
          return if number.zero? && @woken

          @woken = true if number.zero?
          @writer.write_nonblock([number].pack("L"), exception: false)
        end

        # Returns the numbers written since the last call, each once.
        def drain
          bytes = @io.read_nonblock(65_536, @buffer, exception: false)
          @woken = false # after the read: a 0 that is written in between is handled now
          bytes.is_a?(String) ? bytes.unpack("L*").uniq : []
        end

        def close = [@io, @writer].each(&:close)
      end
    end
  end
end
