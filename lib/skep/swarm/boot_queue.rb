# frozen_string_literal: true

# Nodes that are to be forked: at once or later, so many at a time,
# and only while there is a mold to fork them.
#
#   boots = BootQueue.new(config, loop:, page:, cells:, nodes:, hearing:, failed:)
#   boots.mold = mold          # nil: nothing can be forked for the moment
#   boots.enqueue(node)
#   boots.later(node, 0.4)
#   boots.pump                 # a node has booted or died: is there room for the next?
#   boots.close                # nothing more is forked
module Skep
  class Swarm
    class BootQueue
      # failed: called with the node and a sentence when there isn't even a channel for it.
      def initialize(config, loop:, page:, cells:, nodes:, hearing:, failed:)
        @failed = failed
        @config = config
        @loop = loop
        @page = page
        @cells = cells
        @nodes = nodes
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
      end

      def enqueue(node) #: (Node) -> void
        node.wait
        @queue << node
        pump
      end

      def later(node, seconds) #: (Node, Float) -> void
        node.wait
        node.wait_timer = @loop.after(seconds) { enqueue(node) }
      end

      # It isn't to be forked any more.
      def retire(node) #: (Node) -> void
        node.wait_timer&.cancel
        @queue.delete(node)
        node.done
      end

      def pump #: () -> void
        boot(@queue.shift) while @mold && !@closed && @queue.any? && room?
      end

      def close #: () -> void
        @closed = true
      end

      private

      def room? = @nodes.count { |node| node.state == :booting } < @config.boot_parallel

      def boot(node)
        channel, socket = Channel.pair
        @cells.all(node.id).each { |cell| @page.clear(cell) }
        node.begin(@hearing.link(node, channel), @mold, OS.now)
        node.boot_timer = @loop.after(@config.boot_timeout) { overdue(node) }
        @mold.fork(node, socket)
      rescue SystemCallError => e # no descriptor for its channel
        @failed.call(node, e.message)
      end

      # A mold that hasn't even forked it in this time is stuck.
      def overdue(node)
        node.pidfd ? node.kill("boot_timeout") : node.mold.kill
      end
    end
  end
end
