# frozen_string_literal: true

# The processes that are to be forked: at once or later, so many at a time (boot_parallel), and only
# while there is a mold to fork them.
#
#   boots = BootQueue.new(config, loop:, events:, page:, layout:, node_table:, suspects:, connect:)
#   boots.mold = mold          # nil: nothing can be forked for the moment
#   boots.enqueue(slot)        # its node, or the successor of the node it has
#   boots.enqueue(slot, mold:) # from another mold
#   boots.later(slot, 0.4)     # or at a time: boots.at(OS.now + 0.4, slot)
#   boots.start_next           # a node has booted or died: is there room for the next?
#   boots.close                # nothing more is forked
#
# Nothing is forked for a slot that is retired. A launch for which there is no descriptor or no room
# on the page is announced as launch_failed.
module Skep
  class Swarm
    module Nodes
      class BootQueue
        LaunchRequest = Struct.new(:slot, :mold)
        private_constant :LaunchRequest

        attr_reader :mold #: Molds::Mold?

        # connect: makes the IPC::Connection of a node and a channel. suspects: what the new process
        # must know (Health::CrashAttribution#to_plain).
        def initialize(config, loop:, events:, page:, layout:, node_table:, suspects:, connect:)
          @suspects = suspects
          @connect = connect
          @events = events
          @config = config
          @loop = loop
          @page = page
          @layout = layout
          @node_table = node_table
          @queue = []
        end

        def mold=(mold) #: (Molds::Mold?) -> void
          @mold = mold
          start_next
        end

        # The mold has died, if it was this one.
        def lose(mold) #: (Molds::Mold) -> void
          @mold = nil if @mold == mold
          @queue.each { |boot| boot.mold = nil if boot.mold == mold }
        end

        def any? = @queue.any? #: () -> bool

        def enqueue(slot, mold: nil) #: (Slot, ?mold: Molds::Mold?) -> void
          return if slot.retired?

          slot.wait unless slot.live?
          @queue << LaunchRequest.new(slot, mold)
          start_next
        end

        def later(slot, seconds) #: (Slot, Float) -> void
          at(OS.now + seconds, slot)
        end

        def at(time, slot) #: (Float, Slot) -> void
          return if slot.retired?

          slot.wait
          slot.wait_timer = @loop.at(time) { enqueue(slot) }
        end

        # Nothing is to be forked for it any more.
        def cancel(slot) #: (Slot) -> void
          slot.wait_timer&.cancel
          @queue.reject! { |boot| boot.slot == slot }
        end

        def start_next #: () -> void
          boot(@queue.shift) while !@closed && @queue.any? && mold_for(@queue.first) && room?
        end

        def close #: () -> void
          @closed = true
        end

        private

        def mold_for(boot) = boot.mold || @mold

        def room?
          booting = @node_table.nodes.count { |node| node.state == :booting && !node.helper? }
          booting < @config.boot_parallel
        end

        def boot(boot)
          channel, socket = IPC::Channel.pair(descriptors: false)
          node = prepare(boot.slot, mold_for(boot))
          node.listens_to(@connect.call(node, channel))
          node.boot_timer = @loop.after(@config.boot_timeout) { overdue(node) }
          boot.slot.launch(node)
          node.mold.fork(node, socket, suspects: @suspects.to_plain)
        rescue SystemCallError => e # no descriptor for its channel, or no slot
          [channel, socket].compact.each(&:close)
          @events.announce(:launch_failed, boot.slot, error: e.message)
        end

        def prepare(slot, mold)
          @node_table.add do |page_index|
            @layout.all(page_index).each { |cell| @page.clear(cell) }
            NodeProcess.new(page_index, slot, mold, OS.now)
          end
        end

        # A mold that hasn't even forked it in this time is stuck.
        def overdue(node)
          node.pidfd ? node.kill("boot_timeout") : node.mold.kill
        end
      end
    end
  end
end
