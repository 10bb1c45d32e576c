# frozen_string_literal: true

require "json"
require "socket"

# A bidirectional message channel between two skep processes: length-prefixed, versioned frames of
# plain data, and file descriptors. Connection serves a channel from an event loop.
#
#   ours, theirs = Channel.pair   # theirs is the socket for the other process
#   ours.post("fork", { node: 3 }, give: [socket])   # never blocks; the rest waits for #flush
#   ours.post_encoded(Channel.encode("stop"))        # a frame for many, which is encoded once
#   ours.receive { |frame| frame.type; frame["node"]; frame.ios }   # false at the end
#                              # ios is empty if this process had no free descriptor for them
#
# Frames are JSON, never Marshal: the other end may run another version of skep, or be hostile.
# A channel never blocks, and its buffers are bounded: past BACKLOG bytes `post` refuses a frame
# that may be dropped; `receive` reads TURN bytes at most; no frame is larger than FRAME_BYTES or
# nested deeper than NESTING levels.
module Skep
  class Swarm
    module IPC
      class Channel
        VERSION = 1
        HEADER_BYTES = 6
        FRAME_BYTES = 16 * 1024 * 1024
        BACKLOG = 1024 * 1024
        CONTROL_BYTES = 256 # room for about fifty descriptors; a frame has three at most
        UNCLAIMED = 1_000 # frames whose descriptors may wait here
        # Bytes read at a time. Most frames have a few hundred, and Ruby allocates a full piece each
        # time. 64 KiB fragmented malloc's heap: 0.9 MB more after 10,000 nodes, and growing.
        PIECE = 4096
        TURN = 64 * 1024 # bytes that are read before the frames in them are handled
        # Levels. A user's facts have 32 at most, a status that holds them a few more; what holds a
        # frame's facts stays below the 100 that JSON.generate takes.
        NESTING = 64
        SAID = 200 # characters of a parser's message
        private_constant :HEADER_BYTES, :FRAME_BYTES, :BACKLOG, :CONTROL_BYTES, :UNCLAIMED, :PIECE,
                         :TURN, :SAID, :NESTING

        # bytes: the size of its JSON.
        Message = Struct.new(:type, :facts, :ios, :bytes) do
          def [](key) = facts[key]
        end

        # The other end has sent something that is no frame.
        class ProtocolError < Skep::Error
        end

        # The other end uses another version of the format.
        class Incompatible < ProtocolError
          def initialize(version:)
            super("the other end of the channel speaks version #{version}, this one #{VERSION}: " \
                  "restart the swarm so that all its processes run one skep")
          end
        end

        # Returns a channel, and the socket for the process at its other end.
        def self.pair(**how)
          ours, theirs = OS.machine.socket_pair
          [new(ours, **how), theirs]
        end

        # Returns the bytes of a frame with so many descriptors.
        def self.encode(type, facts = {}, ios = 0)
          text = JSON.generate([type, PlainData.of(facts)])
          [text.bytesize, VERSION, ios].pack("NCC") << text.b
        end

        # descriptors: false if none is expected. Those that come are closed.
        def initialize(socket, descriptors: true)
          @socket = socket
          @descriptors = descriptors
          @in = String.new(encoding: Encoding::BINARY)
          @ios = []
          @out = []
          @backlog = 0
          @lock = Mutex.new
          @ended = false
        end

        def to_io = @socket
        def closed? = @socket.closed?
        def pending? = @lock.synchronize { @out.any? }

        # Returns true if the kernel had no room for the last frame, although the socket may be
        # writable.
        def send_buffer_full? = @send_buffer_full ? true : false

        # Sends a frame, or queues what the socket can't take now. IOs to `give` are closed once
        # sent, those to `lend` stay open. Returns false if the other end is gone, or if the backlog
        # is full and the frame `may_drop`. at_once: false sends it with the next frame or flush.
        def post(type, facts = {}, give: [], lend: [], **how)
          return refuse(give) if @ended

          post_encoded(Channel.encode(type, facts, give.size + lend.size), give:, lend:, **how)
        end

        def post_encoded(bytes, give: [], lend: [], may_drop: false, at_once: true)
          @lock.synchronize do
            return refuse(give) if @ended || (may_drop && !room?(bytes))
            raise ArgumentError, too_long(bytes.bytesize) if too_long?(bytes)

            @out << [bytes, give + lend, give]
            @backlog += bytes.bytesize
            at_once ? write_out : true
          end
        end

        # Writes what is queued, as far as the socket takes it. Returns false if the other end is
        # gone.
        def flush = @lock.synchronize { write_out }

        # Yields each complete frame. Returns false if the other end has closed and all is read;
        # :more if there is more than it reads at a time. Raises ProtocolError.
        def receive
          open = fill
          while (frame = next_frame)
            yield frame
            return true if closed?
          end
          open
        end

        # Blocks until a frame has come. Returns nil at the end of the channel or the deadline.
        def take(timeout: nil)
          deadline = timeout && OS.now + timeout
          Kernel.loop do
            frame = next_frame and return frame
            return nil if @ended || !@socket.wait_readable(deadline && [deadline - OS.now, 0].max)

            fill
          end
        end

        def close
          @ended = true
          @socket.close unless @socket.closed?
          (@ios.flatten + @out.flat_map(&:last)).each { |io| io.close unless io.closed? }
          @ios.clear
          @out.clear
        end

        def inspect
          "#<#{self.class} #{closed? ? 'closed' : "fd=#{@socket.fileno}"}>"
        end

        private

        # Reads up to TURN bytes for `next_frame`. Returns the same as `receive`.
        def fill
          read = 0
          while read < TURN
            bytes, _, flags, *rights = @socket.recvmsg_nonblock(PIECE, 0, CONTROL_BYTES,
                                                                scm_rights: @descriptors,
                                                                exception: false)
            return true if bytes == :wait_readable
            return end_of_file if bytes.nil? || (bytes.empty? && rights.empty?)

            @in << bytes
            read += bytes.bytesize
            keep(rights.flat_map { |right| right.unix_rights || [] }, flags) if @descriptors
          end
          :more
        rescue Errno::ECONNRESET, IOError # the other end closed and left frames unread
          end_of_file
        end

        # Returns the next complete frame, or nil.
        def next_frame
          return if @in.bytesize < HEADER_BYTES

          size, version, ios = @in.unpack("NCC")
          raise Incompatible.new(version:) if version != VERSION
          raise ProtocolError, too_long(size) if size > FRAME_BYTES
          return if @in.bytesize < HEADER_BYTES + size

          @in.slice!(0, HEADER_BYTES)
          type, facts = parse(@in.slice!(0, size).force_encoding(Encoding::UTF_8))
          Message.new(type, facts, ios.zero? ? [] : @ios.shift || [], size)
        end

        def too_long(size) = "a frame of #{size} bytes is too long"
        def too_long?(bytes) = bytes.bytesize > FRAME_BYTES
        def room?(bytes) = @backlog <= BACKLOG && !too_long?(bytes)

        def refuse(give)
          give.each(&:close)
          false
        end

        def write_out
          @send_buffer_full = false
          write_frame(*@out.first) while @out.any? && !@full
          @full = false
          !@ended
        rescue Errno::ETOOMANYREFS, Errno::ENOBUFS, Errno::ENOMEM # the kernel may take it later
          @send_buffer_full = true
        rescue Errno::EPIPE, Errno::ECONNRESET, IOError # the other end is gone
          @ended = true
          false
        end

        def write_frame(bytes, ios, give)
          rights = ios.any? ? [OS.machine.rights(ios)] : []
          sent = @socket.sendmsg_nonblock(bytes, 0, nil, *rights, exception: false)
          return @full = true if sent == :wait_writable

          @backlog -= sent
          give.each(&:close)
          rest = bytes.byteslice(sent..)
          rest.empty? ? @out.shift : @out[0] = [rest, [], []]
        end

        # Keeps the descriptors of one frame: they come with its first byte. If this process had no
        # room for them the list is empty, so that the frame doesn't get the next frame's.
        def keep(ios, flags)
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

          type, facts = frame = JSON.parse(text, max_nesting: NESTING)
          return frame if frame.is_a?(Array) && type.is_a?(String) && facts.is_a?(Hash)

          raise ProtocolError, "a frame is a type and facts"
        rescue JSON::ParserError, EncodingError => e
          raise ProtocolError, "a frame isn't JSON: #{e.message[0, SAID].scrub}"
        end
      end
    end
  end
end
