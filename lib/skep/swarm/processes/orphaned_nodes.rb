# frozen_string_literal: true

# Ends the nodes of a mold whose supervisor is dead.
#
#   OrphanedNodes.new(loop, children, orphan_guard).take_over    # children: by pidfd
#
# Each node stops itself. Those that don't are killed at orphan_timeout, with all processes
# of their group. If the mold left at once, a node that has executed another program would
# stay, and so would the processes of a node that dies at that moment. If the mold is killed
# all the same, each node ends itself (OS::ProcessTree::ParentDeathWatch).
module Skep
  class Swarm
    module Processes
      class OrphanedNodes
        # children: ForkServer removes each that it has reaped.
        def initialize(loop, children, orphan_guard)
          @loop = loop
          @children = children
          @orphan_guard = orphan_guard
        end

        def take_over
          @orphan_guard.extend_patience
          each { |pidfd| pidfd.signal(:CONT) } # a stopped process can't finish its batch
          @loop.after(@orphan_guard.patience) { each { |pidfd| kill(pidfd) } }
        end

        private

        # A child that doesn't lead its group yet is in the mold's.
        def kill(pidfd)
          pidfd.signal(:KILL)
          pidfd.signal(:KILL, group: true)
        end

        def each
          @children.each_key do |pidfd|
            yield pidfd
          rescue Errno::ESRCH, Errno::EPERM # it has ended, or has become another user
            next
          end
        end
      end
    end
  end
end
