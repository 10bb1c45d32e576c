# frozen_string_literal: true

# Reaps orphans: processes that the supervisor has inherited as their subreaper (or as pid 1),
# and for whose exit no other object waits.
#
#   orphan_reaper = OrphanReaper.new(program: false, ours: -> { pids })
#   orphan_reaper.inherit  # from here on orphans fall to this process
#   orphan_reaper.reap     # reaps those that have ended; kills those whose node or mold has
#   orphan_reaper.reap_all # at the very end: those still there are killed and reaped; returns
#                          # the pids that this user may not end
#
# A node's process group is ended with it (OS::Pidfd#kill_leftover_group). A process that has
# left the group, as daemons do, is recognized by its environment. One that never executed a
# program, or has changed its environment, lives until the supervisor ends. In a program that
# became a supervisor only recognized processes are touched: all others may be the
# application's own children. They are listed in /proc/PID/task/TID/children, proc(5).
module Skep
  class Swarm
    class Supervisor
      class OrphanReaper
        SWEEP_SECONDS = 5.0
        GROUPS = 10_000 # process groups of molds and nodes that it remembers
        private_constant :SWEEP_SECONDS, :GROUPS

        # program: the process runs an application's program, whose own children are left alone;
        # ours: returns the pids of the molds and nodes.
        def initialize(program:, ours:)
          @program = program
          @ours = ours
          @groups = {}
        end

        def inherit = OS::ProcessTree::Prctl.subreaper!

        # Registers a mold or node that leads a process group. The reaper ends what is left of the
        # group.
        def leader(pid)
          return unless @program

          forget_one if @groups.size >= GROUPS
          @groups[pid] = true
        end

        # Never waits: a process that it kills is reaped the next time, after its SIGCHLD.
        def reap
          foreign.each { |pid| ended?(pid) ? wait(pid) : (finish(pid) if left_behind?(pid)) }
        rescue Errno::EMFILE, Errno::ENFILE # no descriptor to look with: the next time, or the end
          nil
        end

        # Ends and reaps all orphans, also those that it inherits meanwhile. Returns the pids of
        # those that it may not end: a node's setuid program, such as sudo, is another user's.
        def reap_all
          deadline = OS.now + SWEEP_SECONDS
          refused = []
          while OS.now < deadline && (left = foreign - refused).any?
            left.each do |pid|
              finish(pid) { |pidfd| pidfd.wait(timeout: [deadline - OS.now, 0].max) } ||
                refused << pid
            end
          end
          refused
        end

        private

        # Forgets the oldest group whose leader isn't one of our processes any more.
        def forget_one
          ours = @ours.call
          gone = @groups.each_key.find { |pid| !ours.include?(pid) }
          @groups.delete(gone) if gone
        end

        # Returns false if this user may not end it.
        def finish(pid)
          pidfd = OS::Pidfd.open(pid)
          end_one(pidfd)
          yield pidfd if block_given?
          true
        rescue Errno::ESRCH, Errno::ECHILD # ended and reaped meanwhile
          true
        rescue Errno::EPERM
          false
        ensure
          pidfd&.close
        end

        def end_one(pidfd)
          pidfd.signal(:KILL)
        rescue Errno::ESRCH # a zombie already
          nil
        end

        def foreign
          all = children
          all.any? ? (all - @ours.call).select { |pid| !@program || known?(pid) } : all
        end

        def children
          Dir.glob("/proc/self/task/*/children").flat_map do |path|
            File.read(path).split.map(&:to_i)
          end
        rescue Errno::ENOENT, Errno::ESRCH, # a thread of this process has ended meanwhile
               Errno::EMFILE, Errno::ENFILE # no descriptor to look with: the next time
          []
        end

        def known?(pid)
          @groups.key?(Process.getpgid(pid)) || @groups.key?(owner(pid))
        rescue Errno::ESRCH # nothing left to judge
          false
        end

        def left_behind?(pid)
          owner = owner(pid) or return false
          pidfd = OS::Pidfd.open(owner)
          !pidfd.alive?
        rescue Errno::ESRCH
          true
        ensure
          pidfd&.close
        end

        # The node or mold that has executed it, or whose child has.
        def owner(pid)
          name = Runtime::OrphanGuard::OWNER
          File.binread("/proc/#{pid}/environ")[/(?:\A|\0)#{name}=(\d+)\0/, 1]&.to_i
        rescue SystemCallError # gone meanwhile, or it isn't for us to read
          nil
        end

        # False also if it was reaped elsewhere in the meantime.
        def ended?(pid) = OS::ProcessState::Stat.of("/proc/#{pid}/stat")&.state == "Z"

        def wait(pid)
          Process.wait(pid, Process::WNOHANG)
        rescue Errno::ECHILD # reaped elsewhere
          nil
        end
      end
    end
  end
end
