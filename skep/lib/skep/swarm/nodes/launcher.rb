# frozen_string_literal: true

# Launches node processes: asks a mold to fork one, with its own channel and cells of the page.
#
#   launcher = Launcher.new(loop:, page:, layout:, node_table:, suspects:, connect:)
#   launcher.launch(slot, mold)   # => the NodeProcess; its fork is reported later
#
# Raises SystemCallError or NodeTable::Full if there is no descriptor or no room for it.
module Skep
  class Swarm
    module Nodes
      class Launcher
        # connect: returns the IPC::Connection for a node and its channel. suspects: each new node
        # receives its `to_plain` (Health::CrashAttribution).
        def initialize(loop:, page:, layout:, node_table:, suspects:, connect:)
          @loop = loop
          @page = page
          @layout = layout
          @node_table = node_table
          @suspects = suspects
          @connect = connect
        end

        def launch(slot, mold)
          channel, socket = IPC::Channel.pair(descriptors: false)
          node = prepare(slot, mold)
          node.listens_to(@connect.call(node, channel))
          limit_boot(node)
          slot.launch(node)
          mold.fork(node, socket, suspects: @suspects.to_plain)
          node
        rescue SystemCallError, NodeTable::Full
          [channel, socket].compact.each(&:close)
          raise
        end

        # If the node wasn't even forked in that time, the mold is stuck. If it has forked the node
        # at the last moment, that has as long to boot.
        def limit_boot(node)
          node.boot_timer = @loop.deadline(node.options.boot_timeout) do
            next node.kill("boot_timeout") if node.pidfd

            node.mold.kill("hung")
            limit_boot(node)
          end
        end

        private

        def prepare(slot, mold)
          @node_table.add do |page_index|
            clear(page_index)
            NodeProcess.new(page_index, slot, mold, OS.now)
          end
        end

        def clear(page_index)
          [*@layout.all(page_index), *@layout.records(page_index)].each { |cell| @page.clear(cell) }
          used = [@page.get(@layout.shared, IPC::Scoreboard::Layout::USED), page_index + 1].max
          @page.set(@layout.shared, IPC::Scoreboard::Layout::USED, used)
        end
      end
    end
  end
end
