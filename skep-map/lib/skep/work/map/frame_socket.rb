# frozen_string_literal: true

module Skep
  module Work
    class Map
      # The caller's end of a worker's socket, with the format of the frames on it. It never waits:
      # it buffers what the socket doesn't accept, and what has arrived of an incomplete frame.
      #
      #   socket.write(header, body)
      #   socket.pending?                                           # is there unsent data?
      #   socket.receive { |counter, done, kind, nanoseconds, body| … }   # => false at end of file
      #
      # A frame is a header of 64-bit numbers and a body, whose length is the header's last number.
      #
      #   request   index of the first item, number of items, counter (SharedCounters), body length
      #   report    counter, number of items done, kind, nanoseconds taken, body length
      class FrameSocket
        REQUEST = "Q<4"
        REQUEST_BYTES = 32
        REPORT = "Q<5"
        REPORT_BYTES = 40

        # Kinds of reports.
        RESULTS = 0 # the body has the results, if the map needs them
        RAISED = 1  # the item after those done has raised: their results, and the exception
        STOPPED = 2 # the item after those done has raised Stop: their results, and its value
        HELLO = 3   # the worker has started; its pid is in place of a counter

        MAX_READ = 1 << 20
        private_constant :MAX_READ

        def initialize(socket)
          @socket = socket
          @unsent = []
          @scratch = String.new(capacity: MAX_READ)
          expect_header
        end

        def pending? = !@unsent.empty?

        # Writes to a worker that has ended are dropped: its end is noticed by its pidfd.
        def write(header, body = nil)
          @unsent << header
          @unsent << body if body
          flush
        end

        def flush
          while (bytes = @unsent.first)
            sent = @socket.write_nonblock(bytes, exception: false)
            return if sent == :wait_writable

            sent == bytes.bytesize ? @unsent.shift : @unsent[0] = bytes.byteslice(sent..)
          end
        rescue Errno::EPIPE, Errno::ECONNRESET
          @unsent.clear # The worker has ended.
        end

        # Yields each complete report. The body is valid only inside the block: its memory is
        # reused.
        def receive(&block)
          while (bytes = read) != :wait_readable
            return false if bytes.nil?

            advance(&block) if complete?(bytes)
          end
          true
        rescue Errno::ECONNRESET
          false # The worker has ended without reading all requests.
        end

        private

        def read
          @socket.read_nonblock([@missing, MAX_READ].min, @scratch, exception: false)
        end

        def expect_header
          @header = nil
          expect(REPORT_BYTES)
        end

        def expect(bytes)
          @buffer = nil
          @expected = @missing = bytes
        end

        # Adds bytes to the expected header or body and returns true if it is complete. Bytes that
        # are complete at once aren't copied.
        def complete?(bytes)
          @missing -= bytes.bytesize
          return !(@buffer = bytes).nil? if @missing.zero? && @buffer.nil?

          @buffer ||= String.new(capacity: @expected)
          @buffer << bytes
          @missing.zero?
        end

        # After a header expects its body; yields the report once both are here.
        def advance(&block)
          return yield_report(@header, @buffer, &block) if @header

          *@header, bytes = @buffer.unpack(REPORT)
          bytes.zero? ? yield_report(@header, nil, &block) : expect(bytes)
        end

        def yield_report(header, body)
          expect_header
          yield(*header, body)
          body.clear if body && !body.equal?(@scratch)
        end
      end
      private_constant :FrameSocket
    end
  end
end
