# frozen_string_literal: true

# The supervisor's own processes: its molds and its nodes. OrphanReaper deals with all others.
#
#   own_processes = OwnProcesses.new(supervisor, mold_pool)
#   own_processes.pids
#   own_processes.terminate      # asks each node to end, by its signal
#   own_processes.kill_all(2.0)  # kills them all at once, and waits so many seconds at most
#   own_processes.close_in_child # in a fork: closes their channels and pidfds
module Skep
  class Swarm
    class Supervisor
      class OwnProcesses
        def initialize(supervisor, mold_pool)
          @supervisor = supervisor
          @mold_pool = mold_pool
        end

        # nil: of one that is about to be forked.
        def pids = all.map(&:pid)

        def terminate
          @supervisor.node_pool.node_table.nodes.each do |node|
            node.pidfd&.signal(:TERM)
          rescue SystemCallError # it has ended, or is another user's
            next
          end
        end

        def kill_all(seconds)
          processes = all
          processes.each { |process| process.kill("abandoned") }
          deadline = OS.now + seconds
          processes.each { |process| process.pidfd&.wait(timeout: [deadline - OS.now, 0].max) }
          processes.each { |process| [process.channel, process.pidfd].compact.each(&:close) }
        end

        def close_in_child
          all.each { |process| [process.channel, process.pidfd].compact.each(&:close) }
        end

        private

        def all = [*@supervisor.node_pool&.node_table&.nodes, *@mold_pool.molds]
      end
    end
  end
end
