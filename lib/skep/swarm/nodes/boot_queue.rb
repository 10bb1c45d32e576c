# frozen_string_literal: true

# Launches node processes for slots, now or later. At most boot_concurrency nodes boot at a time,
# and launches wait until there is a mold.
#
#   boots = BootQueue.new(config, loop:, events:, page:, layout:, node_table:, suspects:, connect:)
#   boots.mold = mold          # forks the nodes; nil: launches wait
#   boots.enqueue(slot)        # launches the slot's node, or a successor of its node
#   boots.enqueue(slot, mold:) # the same from another mold
#   boots.later(slot, 0.4)     # in 0.4 s
#   boots.start_now(slot)      # it doesn't wait any longer; also with mold:
#   boots.start_next           # a node has booted or died, so another may boot
#   boots.close                # refuses further launches
#
# Launches for retired slots are ignored. If there is no free descriptor or no room on the page for
# a launch, launch_failed is announced. A fork that the mold or the kernel refuses comes back as
# NodePool#fork_failed: an empty slot is tried again after 0.1 s; a successor isn't, and its
# replacement has failed.
module Skep
  class Swarm
    module Nodes
      class BootQueue
        LaunchRequest = Struct.new(:slot, :mold)
        private_constant :LaunchRequest

        attr_reader :mold

        # connect: returns the IPC::Connection for a node and its channel. suspects: each new node
        # receives its `to_plain` (Health::CrashAttribution).
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
          @booting = []
        end

        def mold=(mold)
          @mold = mold
          start_next
        end

        # The mold has died. Its launches fall to the present mold.
        def lose(mold)
          @mold = nil if @mold == mold
          @queue.each { |request| request.mold = nil if request.mold == mold }
        end

        def any? = @queue.any?

        def enqueue(slot, mold: nil)
          return if slot.retired?

          slot.wait unless slot.live?
          @queue << LaunchRequest.new(slot, mold)
          start_next
        end

        def later(slot, seconds)
          return if slot.retired?

          slot.wait
          slot.wait_timer = @loop.after(seconds) { enqueue(slot) }
        end

        # Launches the slot's node now if it was to be launched later; from that mold, if one is
        # given.
        def start_now(slot, mold: nil)
          return unless slot.waiting? && (mold || slot.wait_timer&.pending?)

          cancel(slot)
          enqueue(slot, mold:)
        end

        # Cancels all launches of the slot.
        def cancel(slot)
          slot.wait_timer&.cancel
          @queue.reject! { |request| request.slot == slot }
        end

        def start_next
          launch(@queue.shift) while !@closed && @queue.any? && mold_for(@queue.first) && room?
        end

        def close
          @closed = true
        end

        private

        def mold_for(request) = request.mold || @mold

        def room?
          @booting.select! { |node| node.state == :booting && @node_table.include?(node) }
          @booting.size < @config.boot_concurrency
        end

        def launch(request)
          channel, socket = IPC::Channel.pair(descriptors: false)
          node = prepare(request.slot, mold_for(request))
          node.listens_to(@connect.call(node, channel))
          node.boot_timer = @loop.deadline(@config.boot_timeout) { overdue(node) }
          request.slot.launch(node)
          node.mold.fork(node, socket, suspects: @suspects.to_plain)
        rescue SystemCallError, NodeTable::Full => e # no descriptor for its channel, no room
          [channel, socket].compact.each(&:close)
          @events.announce(:launch_failed, request.slot, error: e.message)
        end

        def prepare(slot, mold)
          node = @node_table.add do |page_index|
            @layout.all(page_index).each { |cell| @page.clear(cell) }
            NodeProcess.new(page_index, slot, mold, OS.now)
          end
          @booting << node unless node.helper?
          node
        end

        # If the node wasn't even forked in that time, the mold is stuck.
        def overdue(node)
          node.pidfd ? node.kill("boot_timeout") : node.mold.kill
        end
      end
    end
  end
end
