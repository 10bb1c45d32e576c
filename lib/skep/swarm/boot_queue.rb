# frozen_string_literal: true

# Processes that are to be forked: at once or later, so many at a time,
# and only while there is a mold to fork them.
#
#   boots = BootQueue.new(config, loop:, page:, cells:, roster:, hearing:, suspicions:, failed:)
#   boots.mold = mold          # nil: nothing can be forked for the moment
#   boots.enqueue(seat)        # its node, or the successor of the node it has
#   boots.enqueue(seat, mold:) # from another mold
#   boots.later(seat, 0.4)
#   boots.pump                 # a node has booted or died: is there room for the next?
#   boots.close                # nothing more is forked
#
# Nothing is forked for a seat that is removed.
module Skep
  class Swarm
    class BootQueue
      Boot = Struct.new(:seat, :mold)
      private_constant :Boot

      attr_reader :mold #: Mold?

      # failed: called with the seat and a sentence when there isn't even a channel for it.
      def initialize(config, loop:, page:, cells:, roster:, hearing:, suspicions:, failed:)
        @suspicions = suspicions
        @failed = failed
        @config = config
        @loop = loop
        @page = page
        @cells = cells
        @roster = roster
        @hearing = hearing
        @queue = []
      end

      def mold=(mold) #: (Mold?) -> void
        @mold = mold
        pump
      end

      # The mold has died, if it was this one.
      def lose(mold) #: (Mold) -> void
        @mold = nil if @mold == mold
        @queue.each { |boot| boot.mold = nil if boot.mold == mold }
      end

      def any? = @queue.any? #: () -> bool

      def enqueue(seat, mold: nil) #: (Seat, ?mold: Mold?) -> void
        return if seat.given_up?

        seat.wait unless seat.live?
        @queue << Boot.new(seat, mold)
        pump
      end

      def later(seat, seconds) #: (Seat, Float) -> void
        return if seat.given_up?

        seat.wait
        seat.wait_timer = @loop.after(seconds) { enqueue(seat) }
      end

      # Nothing is to be forked for it any more.
      def withdraw(seat) #: (Seat) -> void
        seat.wait_timer&.cancel
        @queue.reject! { |boot| boot.seat == seat }
      end

      def pump #: () -> void
        boot(@queue.shift) while !@closed && @queue.any? && mold_for(@queue.first) && room?
      end

      def close #: () -> void
        @closed = true
      end

      private

      def mold_for(boot) = boot.mold || @mold

      def room?
        booting = @roster.nodes.count { |node| node.state == :booting && !node.helper? }
        booting < @config.boot_parallel
      end

      def boot(boot)
        channel, socket = Channel.pair(descriptors: false)
        node = prepare(boot.seat, mold_for(boot))
        node.listens_to(@hearing.link(node, channel))
        node.boot_timer = @loop.after(@config.boot_timeout) { overdue(node) }
        boot.seat.take(node)
        node.mold.fork(node, socket, suspects: @suspicions.to_plain)
      rescue SystemCallError => e # no descriptor for its channel, or no slot
        [channel, socket].compact.each(&:close)
        @failed.call(boot.seat, e.message)
      end

      def prepare(seat, mold)
        @roster.add do |slot|
          @cells.all(slot).each { |cell| @page.clear(cell) }
          Node.new(slot, seat, mold, OS.now)
        end
      end

      # A mold that hasn't even forked it in this time is stuck.
      def overdue(node)
        node.pidfd ? node.kill("boot_timeout") : node.mold.kill
      end
    end
  end
end
