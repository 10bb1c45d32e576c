# frozen_string_literal: true

module Skep
  module Work
    class Map
      # The parent's end of a node's socket. It never waits: what the socket doesn't take is kept
      # until it does, what comes is kept until it is whole.
      #
      #   wire.send(header, cargo)
      #   wire.pending?                                          # is there something kept to send?
      #   wire.receive { |lane, done, kind, nanoseconds, cargo| … }   # => false at the end
      class Wire
        PIECE = 1 << 20
        private_constant :PIECE

        #: (UNIXSocket) -> void
        def initialize(socket)
          @socket = socket
          @out = []
          @scratch = String.new(capacity: PIECE)
          begin_head
        end

        #: () -> bool
        def pending? = !@out.empty?

        # A node that has ended gets nothing: its end is told elsewhere.
        #
        #: (String head, ?String? cargo) -> void
        def send(head, cargo = nil)
          @out << head
          @out << cargo if cargo
          flush
        end

        #: () -> void
        def flush
          while (bytes = @out.first)
            sent = @socket.write_nonblock(bytes, exception: false)
            return if sent == :wait_writable

            sent == bytes.bytesize ? @out.shift : @out[0] = bytes.byteslice(sent..)
          end
        rescue Errno::EPIPE, Errno::ECONNRESET
          @out.clear # as said above
        end

        # Yields what has come whole. The cargo is the block's until it returns: its memory is used
        # again.
        #
        #: () { (Integer, Integer, Integer, Integer, String?) -> void } -> bool
        def receive(&block)
          while (piece = read) != :wait_readable
            return false if piece.nil?

            turn(&block) if whole?(piece)
          end
          true
        rescue Errno::ECONNRESET
          false # ended with orders unread
        end

        private

        #: () -> (String | Symbol | nil)
        def read
          @socket.read_nonblock([@missing, PIECE].min, @scratch, exception: false)
        end

        #: () -> void
        def begin_head
          @head = nil
          expect(Frame::REPORT_BYTES)
        end

        #: (Integer bytes) -> void
        def expect(bytes)
          @buffer = nil
          @expected = @missing = bytes
        end

        # A piece that is the whole is taken as it is.
        #
        #: (String piece) -> bool
        def whole?(piece)
          @missing -= piece.bytesize
          return !(@buffer = piece).nil? if @missing.zero? && @buffer.nil?

          @buffer ||= String.new(capacity: @expected)
          @buffer << piece
          @missing.zero?
        end

        # From head to cargo and on to the next head; a report when both are here.
        #
        #: () { (Integer, Integer, Integer, Integer, String?) -> void } -> void
        def turn(&block)
          return tell(@head, @buffer, &block) if @head

          *@head, bytes = @buffer.unpack(Frame::REPORT)
          bytes.zero? ? tell(@head, nil, &block) : expect(bytes)
        end

        #: (Array[Integer] head, String? cargo) { (*untyped) -> void } -> void
        def tell(head, cargo)
          begin_head
          yield(*head, cargo)
          cargo.clear if cargo && !cargo.equal?(@scratch)
        end
      end
      private_constant :Wire
    end
  end
end
