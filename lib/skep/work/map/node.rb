# frozen_string_literal: true

require "socket"

module Skep
  module Work
    class Map
      # The parent's view of a node: its socket, its pidfd, what it has in hand.
      #
      #   node = Node.new(slot)
      #   node.start { |socket| … }    # the block runs in the child and must not return
      #   node.give(chunk, cargo)
      #   node.receive { |place, done, kind, nanoseconds, cargo| … }
      #   node.hang_up; node.wait(1.0); node.close
      class Node
        attr_reader :slot   #: Integer
        attr_reader :pid    #: Integer?
        attr_reader :pidfd  #: OS::Pidfd?
        attr_reader :chunks #: Array[Chunk]
        attr_reader :pace   #: Pace
        attr_reader :socket #: UNIXSocket
        attr_accessor :hurried #: bool

        #: (Integer slot, Integer threads) -> void
        def initialize(slot, threads)
          @slot = slot
          @threads = threads
          @socket, @theirs = UNIXSocket.pair
          @wire = Wire.new(@socket)
          @chunks = []
          @pace = Pace.new
          @hurried = false
        end

        #: () { (UNIXSocket) -> bot } -> void
        def start
          @pid = Process.fork
          yield @theirs unless @pid
          @theirs.close
          adopt
        end

        #: () -> bool
        def idle? = @chunks.empty?

        # May it be given another chunk?
        #
        #: () -> bool
        def room? = @chunks.size < (@pace.ahead? ? @threads * 2 : @threads)

        #: () -> bool
        def pending? = @wire.pending?

        #: (Chunk, String? cargo) -> void
        def give(chunk, cargo)
          @chunks << chunk
          head = [chunk.from, chunk.size, cargo ? cargo.bytesize : 0].pack(Frame::ORDER)
          @wire.send(head, cargo)
        end

        # False when the node has closed its end.
        #
        #: () { (*untyped) -> void } -> bool
        def receive(&) = @wire.receive(&)

        #: () -> void
        def flush = @wire.flush

        # The chunk that begins with that item, which is done, or given back.
        #
        #: (Integer from) -> Chunk
        def finished(from)
          @chunks.delete_at(@chunks.index { |chunk| chunk.from == from })
        end

        # Tells the node that no order will follow: it ends once it has done what it has.
        # The socket itself, as other processes may have copies of it.
        #
        #: () -> void
        def hang_up
          @socket.shutdown(Socket::SHUT_WR)
        rescue Errno::ENOTCONN
          nil # It has ended.
        end

        #: (Symbol) -> void
        def signal(name)
          @pidfd&.signal(name)
        rescue Errno::ESRCH
          nil # It has ended.
        end

        # Waits for its end and reaps it; nil at the deadline.
        #
        #: (Numeric? seconds) -> untyped
        def wait(seconds) = @pidfd ? @pidfd.wait(timeout: seconds) : OS::Pidfd::Unknown.new(@pid)

        # A fork that an exception cut short may have made a child nonetheless: that says hello, or
        # there is none.
        #
        #: () -> void
        def recover
          return if @pid

          @theirs.close unless @theirs.closed?
          head = @socket.read(Frame::REPORT_BYTES)
          @pid = head.unpack1("Q<") if head
          adopt if @pid
        end

        # In another process that was forked meanwhile.
        #
        #: () -> void
        def disown = [@socket, @pidfd].compact.each(&:close)

        #: () -> void
        def close = [@socket, @theirs, @pidfd].compact.each(&:close)

        #: () -> String
        def inspect = "#<#{self.class} slot=#{slot} pid=#{pid || "?"} chunks=#{chunks.size}>"

        private

        #: () -> void
        def adopt
          @pidfd = OS::Pidfd.open(@pid)
        rescue Errno::ESRCH
          nil # Dead, and reaped by somebody else (a handler of CHLD): its socket tells.
        end
      end
      private_constant :Node
    end
  end
end
