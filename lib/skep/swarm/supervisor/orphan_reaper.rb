# frozen_string_literal: true

# Processes that fell to the supervisor because it is their subreaper (or pid 1),
# and whose end nobody else awaits.
#
#   orphan_reaper = OrphanReaper.new(program: false, ours: -> { pids })
#   orphan_reaper.reap     # reaps those that have ended; kills those whose node or mold has
#   orphan_reaper.reap_all # at the very end: those still there are killed and reaped
#
# A node's group is ended with it (OS::Pidfd#kill_leftover_group). Who left that group, by a session
# of his own and a second fork, is known by the environment that he was executed with; who wasn't
# executed at all, or hides it, stays until the end. In a program that became a supervisor only
# what is known for a node's is touched: all others may be the application's own children. Children
# are listed by /proc/PID/task/TID/children, proc(5).
module Skep
  class Swarm
    class Supervisor
      class OrphanReaper
        SWEEP_SECONDS = 5.0
        GROUPS = 10_000 # of how many groups it is remembered that they are ours
        private_constant :SWEEP_SECONDS, :GROUPS

        # program: we are somebody's program, and children of its own are to be left alone;
        # ours: tells the pids of our molds and nodes.
        def initialize(program:, ours:) #: (program: bool, ours: ^() -> Array[Integer?]) -> void
          @program = program
          @ours = ours
          @groups = {}
        end

        # A process of ours that leads a group: what is left of the group is ours to end.
        def leader(pid) #: (Integer) -> void
          return unless @program

          forget_one if @groups.size >= GROUPS
          @groups[pid] = true
        end

        # Never waits: whose end this brings about is reaped the next time, told by SIGCHLD.
        def reap #: () -> void
          foreign.each { |pid| ended?(pid) ? wait(pid) : (finish(pid) if left_behind?(pid)) }
        rescue Errno::EMFILE, Errno::ENFILE # no descriptor to look with: the next time, or the end
          nil
        end

        # Ends and reaps every stranger, and those that fall to us meanwhile.
        def reap_all #: () -> void
          deadline = OS.now + SWEEP_SECONDS
          while OS.now < deadline && (left = foreign).any?
            left.each do |pid|
              finish(pid) { |pidfd| pidfd.wait(timeout: [deadline - OS.now, 0].max) }
            end
          end
        end

        private

        # The oldest of those whose leader isn't among our processes any more: one that lives for
        # long is as much ours as on its first day.
        def forget_one
          ours = @ours.call
          gone = @groups.each_key.find { |pid| !ours.include?(pid) }
          @groups.delete(gone) if gone
        end

        def finish(pid)
          pidfd = OS::Pidfd.open(pid)
          end_one(pidfd)
          yield pidfd if block_given?
        rescue Errno::ESRCH, Errno::ECHILD # ended and reaped meanwhile
          nil
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
        rescue Errno::ENOENT, Errno::ESRCH, # a thread of ours has ended meanwhile
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

        def ended?(pid)
          File.binread("/proc/#{pid}/stat")[/\) (\S)/, 1] == "Z"
        rescue Errno::ENOENT, Errno::ESRCH # reaped by somebody else meanwhile
          false
        end

        def wait(pid)
          Process.wait(pid, Process::WNOHANG)
        rescue Errno::ECHILD # reaped by somebody else
          nil
        end
      end

      # The processes that are the supervisor's own, its molds and its nodes alike; all others are
      # OrphanReaper.
      #
      #   own_processes = OwnProcesses.new(supervisor, mold_pool)
      #   own_processes.pids
      #   own_processes.abandon(2.0)   # ends them all at once, and waits so many seconds at most
      #   own_processes.disown         # in a fork: their channels and pidfds are the supervisor's
      class OwnProcesses
        def initialize(supervisor, mold_pool) #: (Supervisor, Molds::MoldPool) -> void
          @supervisor = supervisor
          @mold_pool = mold_pool
        end

        # nil: of one that is about to be forked.
        def pids = all.map(&:pid) #: () -> Array[Integer?]

        def abandon(seconds) #: (Float) -> void
          processes = all
          processes.each { |process| process.kill("abandoned") }
          deadline = OS.now + seconds
          processes.each { |process| process.pidfd&.wait(timeout: [deadline - OS.now, 0].max) }
          processes.each { |process| process.channel.close }
        end

        def disown #: () -> void
          all.each { |process| [process.channel, process.pidfd].compact.each(&:close) }
        end

        private

        def all = [*@supervisor.node_pool&.node_table&.nodes, *@mold_pool.molds]
      end
    end
  end
end
