# frozen_string_literal: true

require "json"
require "socket"

# A two-way road between two skep processes:
# length-prefixed, versioned frames of plain data, and descriptors.
#
#   ours, theirs = Channel.pair   # theirs is a socket to hand to the other process
#   ours.post("fork", { node: 3 }, give: [socket])   # never blocks; the rest waits for #flush
#   ours.receive { |frame| frame.type; frame["node"]; frame.ios }   # what came; false at the end
#                              # ios is empty where this process had no descriptor left for them
#
# Plain data (JSON), never Marshal: the other end may run another version of skep, or be hostile.
# It never blocks and never grows without bound: past BACKLOG bytes, `post` refuses a frame that
# may be dropped; `receive` reads TURN bytes at most, and no frame is larger than FRAME_BYTES or
# nested deeper than JSON's own 100 levels.
module Skep
  class Swarm
    module IPC
      class Channel
        VERSION = 1
        HEADER_BYTES = 6
        FRAME_BYTES = 16 * 1024 * 1024
        BACKLOG = 1024 * 1024
        CONTROL_BYTES = 256 # room for some fifty descriptors; a frame has one
        UNCLAIMED = 1_000 # frames' descriptors that may lie here
        # Bytes read at a time: most frames have some hundred, and Ruby allocates all of them each
        # time. 64 KiB left malloc's heap in pieces: 0.9 MB more after 10,000 nodes, and growing.
        PIECE = 4096
        TURN = 64 * 1024 # bytes that are read before what has come is handled
        SAID = 200 # characters of a parser's message
        private_constant :HEADER_BYTES, :FRAME_BYTES, :BACKLOG, :CONTROL_BYTES, :UNCLAIMED, :PIECE,
                         :TURN, :SAID

        # bytes: what its facts took as JSON.
        Message = Struct.new(:type, :facts, :ios, :bytes) do
          def [](key) = facts[key]
        end

        # What the other end has sent is no frame.
        class ProtocolError < Skep::Error
        end

        # The other end speaks another version.
        class Incompatible < ProtocolError
          def initialize(version:)
            super("the other end of the channel speaks version #{version}, this one #{VERSION}: " \
                  "restart the swarm so that all its processes run one skep")
          end
        end

        # A channel and the socket to hand to the process at its other end.
        def self.pair(**how) #: (**untyped) -> [Channel, UNIXSocket]
          ours, theirs = UNIXSocket.pair
          [new(ours, **how), theirs]
        end

        # descriptors: false if none is expected: those that come are closed.
        def initialize(socket, descriptors: true) #: (BasicSocket, ?descriptors: bool) -> void
          @socket = socket
          @descriptors = descriptors
          @in = String.new(encoding: Encoding::BINARY)
          @ios = []
          @out = []
          @backlog = 0
          @lock = Mutex.new
          @ended = false
        end

        def to_io = @socket #: () -> BasicSocket
        def closed? = @socket.closed? #: () -> bool
        def pending? = @lock.synchronize { @out.any? } #: () -> bool

        # Has the kernel no room for what is queued just now? The socket may be writable all the
        # same.
        def refused? = @refused ? true : false #: () -> bool

        # Sends a frame, or queues what the socket can't take now. `give`n IOs are closed once sent,
        # `lend`ed stay open. False when the other end is gone, or when a frame that `may_drop`
        # finds a full backlog. Not `at_once`: it goes with the next frame or flush.
        def post(type, facts = {}, give: [], lend: [], may_drop: false, at_once: true)
          bytes = encode(type, facts, give.size + lend.size)
          @lock.synchronize do
            return refuse(give) if @ended || (may_drop && !room?(bytes))
            raise ArgumentError,
"a frame of #{bytes.bytesize} bytes is too long" if too_long?(bytes)

            @out << [bytes, give + lend, give]
            @backlog += bytes.bytesize
            at_once ? write_out : true
          end
        end

        # Writes what is queued, as far as the socket takes it. False when the other end is gone.
        def flush = @lock.synchronize { write_out } #: () -> bool

        # Yields each frame that has come whole. False when the other end has closed and all is
        # read; :more if more than it reads at a time has come. Raises ProtocolError.
        def receive(&block) #: () { (Message) -> void } -> (bool | :more)
          open = fill
          while (frame = next_frame)
            block.call(frame)
            return true if closed?
          end
          open
        end

        # Reads some of what has come, for `next_frame`; returns what `receive` does.
        def fill #: () -> (bool | :more)
          read = 0
          while read < TURN
            bytes, _, flags, *rights = @socket.recvmsg_nonblock(PIECE, 0, CONTROL_BYTES,
                                                                scm_rights: @descriptors,
                                                                exception: false)
            return true if bytes == :wait_readable
            return end_of_file if bytes.nil? || (bytes.empty? && rights.empty?)

            @in << bytes
            read += bytes.bytesize
            dump(rights.flat_map { |right| right.unix_rights || [] }, flags) if @descriptors
          end
          :more
        rescue Errno::ECONNRESET, IOError # closed with frames of ours unread: an end like any other
          end_of_file
        end

        # The next frame that has been read whole; nil if there is none. Raises ProtocolError.
        def next_frame #: () -> Message?
          return if @in.bytesize < HEADER_BYTES

          size, version, ios = @in.unpack("NCC")
          raise Incompatible.new(version:) if version != VERSION
          raise ProtocolError, "a frame of #{size} bytes is too long" if size > FRAME_BYTES

          return if @in.bytesize < HEADER_BYTES + size

          @in.slice!(0, HEADER_BYTES)
          type, facts = parse(@in.slice!(0, size).force_encoding(Encoding::UTF_8))
          Message.new(type, facts, ios.zero? ? [] : @ios.shift || [], size)
        end

        # Blocks until one frame has come; nil at the end or the deadline.
        def take(timeout: nil) #: (?timeout: Float?) -> Message?
          deadline = timeout && OS.now + timeout
          Kernel.loop do
            frame = next_frame and return frame
            return nil if @ended || !@socket.wait_readable(deadline && [deadline - OS.now, 0].max)

            fill
          end
        end

        # What goes with its socket to the program that this process is to be: what has come in
        # part, and what has yet to go.
        def remainder #: () -> Hash[String, untyped]
          @lock.synchronize do
            { "in" => [@in].pack("m0"), "out" => @out.map { |bytes, *| [bytes].pack("m0") } }
          end
        end

        # Has it any descriptors in hand? They are nobody else's business.
        def fds_in_flight? #: () -> bool
          @lock.synchronize { @ios.any? || @out.any? { |_, ios, _| ios.any? } }
        end

        def restore(plain) #: (Hash[String, untyped]) -> self
          @in << plain["in"].unpack1("m0")
          @out = plain["out"].map { |text| [text.unpack1("m0"), [], []] }
          @backlog = @out.sum { |bytes, *| bytes.bytesize }
          self
        end

        def close #: () -> void
          @ended = true
          @socket.close unless @socket.closed?
          (@ios.flatten + @out.flat_map(&:last)).each { |io| io.close unless io.closed? }
          @ios.clear
          @out.clear
        end

        def inspect #: () -> String
          "#<#{self.class} #{closed? ? 'closed' : "fd=#{@socket.fileno}"}>"
        end

        private

        def too_long?(bytes) = bytes.bytesize > FRAME_BYTES
        def room?(bytes) = @backlog <= BACKLOG && !too_long?(bytes)

        def refuse(give)
          give.each(&:close)
          false
        end

        def encode(type, facts, ios)
          text = JSON.generate([type, PlainData.of(facts)])
          [text.bytesize, VERSION, ios].pack("NCC") << text.b
        end

        def write_out
          @refused = false
          write_frame(*@out.first) while @out.any? && !@full
          @full = false
          !@ended
        rescue Errno::ETOOMANYREFS, Errno::ENOBUFS, Errno::ENOMEM # as much as it takes, later
          @refused = true
        rescue Errno::EPIPE, Errno::ECONNRESET, IOError # the other end is gone
          @ended = true # what it didn't read is nobody's
          false
        end

        def write_frame(bytes, ios, give)
          rights = ios.any? ? [Socket::AncillaryData.unix_rights(*ios)] : []
          sent = @socket.sendmsg_nonblock(bytes, 0, nil, *rights, exception: false)
          return @full = true if sent == :wait_writable

          @backlog -= sent
          give.each(&:close)
          rest = bytes.byteslice(sent..)
          rest.empty? ? @out.shift : @out[0] = [rest, [], []]
        end

        # One frame's descriptors, as each comes with the first byte of its own. They may not have
        # come, where this process has no room for another: that mustn't give it the next frame's.
        def dump(ios, flags)
          cut = flags.anybits?(Socket::MSG_CTRUNC)
          ios.each(&:close).clear if cut
          @ios << ios if cut || ios.any?
          raise ProtocolError, "descriptors that belong to no frame" if @ios.size > UNCLAIMED
        end

        def end_of_file
          @ended = true
          false
        end

        def parse(text)
          raise ProtocolError, "a frame isn't UTF-8" unless text.valid_encoding?

          type, facts = frame = JSON.parse(text)
          return frame if frame.is_a?(Array) && type.is_a?(String) && facts.is_a?(Hash)

          raise ProtocolError, "a frame is a type and facts"
        rescue JSON::ParserError, EncodingError => e
          raise ProtocolError, "a frame isn't JSON: #{e.message[0, SAID].scrub}"
        end
      end
    end
  end
end
