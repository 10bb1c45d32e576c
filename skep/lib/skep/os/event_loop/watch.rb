# frozen_string_literal: true

module Skep
  module OS
    class EventLoop
      # A block that the loop calls whenever its io is ready.
      #
      #   watch = loop.watch(socket) { |readable, writable| … }
      #   watch.write = true    # also if it is writable
      #   watch.read = false    # no longer if it is readable
      #   watch.cancel          # before socket.close
      class Watch
        def initialize(poller, io, write, block)
          @poller = poller
          @io = io
          @block = block
          @read = true
          @write = write
          poller.add(io, self, read: true, write: write)
        end

        def write=(wanted)
          interest(@read, wanted)
        end

        def read=(wanted)
          interest(wanted, @write)
        end

        # Stops watching. May be called again.
        def cancel
          @poller.remove(@io) unless cancelled? || @resting || @poller.closed?
          @block = nil
        end

        def cancelled? = @block.nil?

        # Stops watching until __resume. A hangup would make the io ready even if it is watched for
        # nothing.
        def __rest
          return if cancelled? || @resting || @poller.closed?

          @poller.remove(@io)
          @resting = true
        end

        def __resume
          return unless @resting

          @resting = false
          @poller.add(@io, self, read: @read, write: @write) unless cancelled? || @poller.closed?
        end

        def __call(readable, writable) = @block&.call(readable, writable)

        def inspect = "#<#{self.class} #{cancelled? ? "cancelled" : @io.inspect}>"

        private

        def interest(read, write)
          return if cancelled? || (read == @read && write == @write)

          @poller.modify(@io, self, read: read, write: write) unless @resting
          @read = read
          @write = write
        end
      end
    end
  end
end
