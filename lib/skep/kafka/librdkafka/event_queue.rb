# frozen_string_literal: true

# A queue of librdkafka's, with an IO that becomes readable when something comes into the empty
# queue.
#
#   queue = EventQueue.new(Bindings.queue_new(handle))
#   child.wait_for([queue.io], 5.0)
#   queue.drain { |event| … }      # everything there is; never waits
#
# A wait that begins without a drain before it may miss what already was there.
module Skep
  module Kafka
    module Librdkafka
      class EventQueue
        attr_reader :pointer
        attr_reader :io #: IO

        def initialize(pointer) #: (FFI::Pointer) -> void
          @pointer = pointer
          @io, @wakeup_pipe = OS.pipe
          @wakeup_pipe.nonblock = true
          Bindings.queue_io_event_enable(pointer, @wakeup_pipe.fileno, "e", 1)
        end

        # Yields each event there is.
        def drain #: () { (Event) -> void } -> void
          @io.read_nonblock(64, exception: false)
          until (found = Bindings.queue_poll(pointer, 0)).null?
            use(Event.new(found)) { |event| yield event }
          end
        end

        # Waits so many seconds for one event and gives what the block gives for it; nil when none
        # came.
        def wait(seconds) #: (Numeric) { (Event) -> untyped } -> untyped
          found = Bindings.queue_wait(pointer, (seconds * 1000).ceil)
          use(Event.new(found)) { |event| yield event } unless found.null?
        end

        def close #: () -> void
          Bindings.queue_io_event_enable(pointer, -1, nil, 0)
          Bindings.queue_destroy(pointer)
          [@io, @wakeup_pipe].each(&:close)
        end

        private

        def use(event)
          yield event
        ensure
          event.destroy
        end
      end
    end
  end
end
