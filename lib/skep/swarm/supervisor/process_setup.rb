# frozen_string_literal: true

# Makes this process a supervisor, and undoes that at the end: it handles signals (SignalHandler),
# is a subreaper that ends and reaps what its nodes leave behind (OrphanReaper), and knows its own
# processes (OwnProcesses). A fork of it inherits none of that.
#
#   setup = ProcessSetup.new(supervisor, program: false, ours: -> { pids }, forked: -> { … })
#   setup.take
#   setup.orphan_reaper.reap
#   setup.release         # a program that has run a swarm has its own signal handlers again
module Skep
  class Swarm
    class Supervisor
      class ProcessSetup
        attr_reader :orphan_reaper

        # program: the process runs an application's program; ours: returns the pids of the molds
        # and nodes; forked: is called in whatever else the program forks.
        def initialize(supervisor, program:, ours:, forked:)
          @loop = supervisor.loop
          @program = program
          @forked = forked
          @signal_handler = SignalHandler.new(supervisor)
          @orphan_reaper = OrphanReaper.new(program:, ours:)
        end

        def take
          OS::ProcessTree::Prctl.subreaper!
          @signals = Runtime::SelfPipe.new(SignalHandler::SIGNALS)
          @loop.watch(@signals.to_io) { @signal_handler.handle_all(@signals.take_with_times) }
          @in_forks = Skep.on_fork(child: -> { @forked.call unless Runtime::SelfPipe.handing_on? })
        end

        # Closes the loop, too.
        def release
          @in_forks&.cancel
          @loop.close
          @program ? @signals&.release : @signals&.ignore # one that comes now has no effect
        end

        # Called in a fork of the supervisor.
        def close_in_child
          @in_forks.cancel
          @loop.close
          @signals.release
        end
      end

      # What each signal means to the supervisor (docs/reference/signals.md).
      #
      #   signal_handler = SignalHandler.new(supervisor)
      #   signal_handler.handle("TERM", now) # stop; a second one kills all nodes at once
      #   signal_handler.handle_all([["TERM", now - 1], ["TERM", now]])
      #
      # A repeat within 50 ms, or TERM soon after INT (as foreman sends it), is the same signal
      # (SelfPipe::RepeatedStop).
      class SignalHandler
        # XFSZ asks for nothing. It is only caught, so that a file at the limit of its size
        # (ulimit -f) is an error of write(2), EFBIG, and doesn't end the supervisor. As it isn't
        # ignored, molds and nodes have the default.
        SIGNALS = %w[TERM INT QUIT TSTP TTIN USR1 USR2 HUP CHLD XFSZ].freeze
        STOPS = %w[TERM INT].freeze
        private_constant :STOPS

        def initialize(supervisor)
          @supervisor = supervisor
          @repeated_stop = Runtime::SelfPipe::RepeatedStop.new
        end

        # Handles the signals that have come since the last turn of the loop, each with the time at
        # which it came. Several of one kind are one, but requests to stop: a busy supervisor reads
        # the first and the second at once.
        def handle_all(signals)
          signals.uniq { |name, at| STOPS.include?(name) ? [name, at] : name }.each do |name, at|
            @supervisor.events.guard("signal #{name}") { handle(name, at) }
          end
        end

        # at: when it came.
        def handle(name, at = OS.now)
          case name
          when *STOPS then stop(name, at)
          when "QUIT" then @supervisor.force(name)
          when "TSTP" then @supervisor.quiet
          when "TTIN" then @supervisor.backtraces
          when "USR1" then @supervisor.reopen
          when "USR2" then @supervisor.changes.restart
          when "HUP" then @supervisor.changes.reload
          when "CHLD" then @supervisor.reap
          end
        end

        private

        def stop(name, at)
          repeated_stop = @repeated_stop.of(name, at)
          return if repeated_stop == :same

          # A stop that was asked for in another way (`skep stop`) counts as the first request. One
          # that the swarm began itself (all work done, a crash loop) doesn't.
          again = repeated_stop == :again || @supervisor.asked_to_stop?
          again ? @supervisor.force(name) : @supervisor.stop(name)
        end
      end

      # Reaps orphans: processes that the supervisor has inherited as their subreaper (or as pid 1),
      # and for whose exit no other object waits.
      #
      #   orphan_reaper = OrphanReaper.new(program: false, ours: -> { pids })
      #   orphan_reaper.reap     # reaps those that have ended; kills those whose node or mold has
      #   orphan_reaper.reap_all # at the very end: those still there are killed and reaped; returns
      #                          # the pids that this user may not end
      #
      # A node's process group is ended with it (OS::Pidfd#kill_leftover_group). A process that has
      # left the group, as daemons do, is recognized by its environment. One that never executed a
      # program, or has changed its environment, lives until the supervisor ends. In a program that
      # became a supervisor only recognized processes are touched: all others may be the
      # application's own children. They are listed in /proc/PID/task/TID/children, proc(5).
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

        def ended?(pid)
          File.binread("/proc/#{pid}/stat")[/\) (\S)/, 1] == "Z"
        rescue Errno::ENOENT, Errno::ESRCH # reaped elsewhere in the meantime
          false
        end

        def wait(pid)
          Process.wait(pid, Process::WNOHANG)
        rescue Errno::ECHILD # reaped elsewhere
          nil
        end
      end

      # The supervisor's own processes: its molds and its nodes. OrphanReaper deals with all others.
      #
      #   own_processes = OwnProcesses.new(supervisor, mold_pool)
      #   own_processes.pids
      #   own_processes.terminate      # asks each node to end, by its signal
      #   own_processes.abandon(2.0)   # ends them all at once, and waits so many seconds at most
      #   own_processes.close_in_child         # in a fork: closes their channels and pidfds
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

        def abandon(seconds)
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
