# frozen_string_literal: true

# The process group that this process leads.
#
#   Skep::OS::ProcessTree::ProcessGroup.kill_others   # => true: its other members are killed
#
# The group of another leader is signalled by its handle: Pidfd#signal(:KILL, group: true).
module Skep
  module OS
    module ProcessTree
      module ProcessGroup
        # Its limits: it looks the members up in /proc and kills one after the other. Without /proc,
        # or a free descriptor to look with, it kills none.
        module Fallback
          # Kills every other process of the group that this process leads. Returns false, and does
          # nothing, if it leads none.
          def kill_others
            return false unless Process.getpgrp == Process.pid

            killed = []
            while (found = members - killed).any? # what they have forked meanwhile
              found.each { |pid| kill(pid) }
              killed.concat(found)
            end
            true
          end

          private

          def members
            pids = Dir.children("/proc").grep(/\A\d+\z/).map(&:to_i)
            pids.select { |pid| pid != Process.pid && member?(pid) }
          rescue Errno::ENOENT, Errno::EMFILE, Errno::ENFILE
            []
          end

          def member?(pid)
            Process.getpgid(pid) == Process.pid
          rescue Errno::ESRCH
            false
          end

          def kill(pid)
            pidfd = Pidfd.open(pid)
            pidfd.signal(:KILL) if member?(pid)
          rescue SystemCallError # it has ended; it runs a setuid program; no descriptor is free
            nil
          ensure
            pidfd&.close
          end
        end
        private_constant :Fallback

        extend Fallback
      end
    end
  end
end
