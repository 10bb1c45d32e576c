# frozen_string_literal: true

require "socket"

module Skep
  module Work
    class Map
      # The parent's view of a node: its socket, its pidfd, what it has in hand.
      #
      #   node = Node.new(slot, claims)
      #   node.start { |socket| … }    # the block runs in the child and must not return
      #   node.give(chunk, cargo)
      #   node.receive { |lane, done, kind, nanoseconds, cargo| … }
      #   node.cut                     # => [Chunk], what it hasn't begun and won't begin
      #   node.hang_up; node.wait(1.0); node.close
      class Node
        attr_reader :slot   #: Integer
        attr_reader :pid    #: Integer?
        attr_reader :pidfd  #: OS::Pidfd?
        attr_reader :pace   #: Pace
        attr_reader :socket #: UNIXSocket

        #: (Integer slot, Claims) -> void
        def initialize(slot, claims)
          @slot = slot
          @claims = claims
          claims.clear(slot)
          @lanes = claims.lanes(slot)
          @threads = @lanes.size / 2
          @socket, @theirs = UNIXSocket.pair
          @wire = Wire.new(@socket)
          @in_hand = {}
          @cut = []
          @pace = Pace.new
        end

        # Whatever ends the child, be it a signal before it has begun, must not unwind its copy of
        # the caller's frames. Nothing interrupts it but while it works.
        #
        #: () { (UNIXSocket) -> bot } -> void
        def start
          origin = Skep.pid
          Thread.handle_interrupt(Object => :never) do
            heed
            @pid = Process.fork
            yield @theirs unless @pid
            @theirs.close
            adopt
          end
        ensure
          Process.exit!(1) unless Skep.pid == origin
        end

        # In the order in which they were given.
        #
        #: () -> Array[Chunk]
        def chunks = @in_hand.values

        #: () -> bool
        def idle? = @in_hand.empty?

        # May it have more than it works on?
        #
        #: () -> bool
        def laden? = @in_hand.except(*@cut).values.sum(&:size) > @threads

        # May it be given another chunk? One may wait at the node while it works off the last, if
        # that is short, or there is plenty for all.
        #
        #: (bool plenty) -> bool
        def room?(plenty) = @in_hand.size < (plenty || @pace.ahead? ? @threads * 2 : @threads)

        #: () -> bool
        def pending? = @wire.pending?

        #: (Chunk, String? cargo) -> void
        def give(chunk, cargo)
          lane = (@lanes - @in_hand.keys).first
          @in_hand[lane] = chunk
          @cut.delete(lane)
          @claims.offer(lane, chunk.size)
          head = [chunk.from, chunk.size, lane, cargo ? cargo.bytesize : 0]
          @wire.send(head.pack(Frame::ORDER), cargo)
        end

        # False when the node has closed its end.
        #
        #: () { (*untyped) -> void } -> bool
        def receive(&) = @wire.receive(&)

        #: () -> void
        def flush = @wire.flush

        # The chunk that it has reported on.
        #
        #: (Integer lane) -> Chunk
        def finished(lane) = @in_hand.delete(lane)

        #: () -> Array[Chunk]
        def cut
          @in_hand.filter_map do |lane, chunk|
            kept, rest = chunk.halves(@claims.cut(lane, chunk.size))
            @in_hand[lane] = kept
            @cut |= [lane]
            rest if rest.size.positive?
          end
        end

        # The places of the items that it has begun last, one a chunk.
        #
        #: () -> Array[Integer]
        def begun
          @in_hand.filter_map do |lane, chunk|
            count = @claims.begun(lane, chunk.size)
            chunk.from + count - 1 if count.positive?
          end
        end

        #: () -> String?
        def last_words = @claims.said(slot)

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
        def wait(seconds)
          @pidfd ? @pidfd.wait(timeout: seconds) : OS::Pidfd::UnknownStatus.new(@pid)
        end

        # A fork that a signal's exception cut short, which nothing masks, may have made a child
        # nonetheless: that says hello, or there is none.
        #
        #: () -> void
        def recover
          return if @adopted

          @theirs.close
          @pid ||= @socket.read(Frame::REPORT_BYTES)&.unpack1("Q<")
          adopt if @pid
        end

        # In another process that was forked meanwhile.
        #
        #: () -> void
        def disown = [@socket, @pidfd].compact.each(&:close)

        #: () -> void
        def close = [@socket, @theirs, @pidfd].compact.each(&:close)

        #: () -> String
        def inspect = "#<#{self.class} slot=#{slot} pid=#{pid || "?"} chunks=#{@in_hand.size}>"

        private

        # What waits to interrupt the thread does so now: a fork makes Ruby forget it, in the parent
        # too (its bug 20393, before 3.4), and a Timeout never comes. What a fork flushes is flushed
        # before, as others may run meanwhile.
        #
        #: () -> void
        def heed
          [$stdout, $stderr].each(&:flush)
          Thread.handle_interrupt(Object => :immediate) { nil } if Thread.pending_interrupt?
        end

        #: () -> void
        def adopt
          @pidfd = OS::Pidfd.open(@pid)
          @adopted = true
        rescue Errno::ESRCH
          @adopted = true # Dead, and reaped by somebody else (a handler of CHLD): its socket tells.
        end
      end
      private_constant :Node
    end
  end
end
