# frozen_string_literal: true

# Processes that fell to the supervisor because it is their subreaper (or pid 1),
# and whose end nobody else awaits.
#
#   strangers = Strangers.new(program: false, ours: ->(pid) { … })
#   strangers.reap     # those that have ended; what an orphan of a node leaves as a zombie
#   strangers.sweep    # at the very end: those still there are killed and reaped
#
# In a program that became a supervisor only those of our nodes' process groups are touched:
# all others may be the application's own children.
# Children are listed by /proc/PID/task/TID/children, proc(5).
module Skep
  class Swarm
    class Strangers
      SWEEP_SECONDS = 5.0
      GROUPS = 10_000 # of how many groups it is remembered that they are ours
      private_constant :SWEEP_SECONDS, :GROUPS

      # program: we are somebody's program, and children of its own are to be left alone.
      def initialize(program:, ours:) #: (program: bool, ours: ^(Integer) -> bool) -> void
        @program = program
        @ours = ours
        @groups = {}
      end

      # A process of ours that leads a group: what is left of the group is ours to end.
      def leader(pid) #: (Integer) -> void
        return unless @program

        @groups.shift if @groups.size >= GROUPS
        @groups[pid] = true
      end

      # Reaps strangers that have ended; returns their pids.
      def reap #: () -> Array[Integer]
        children.select { |pid| foreign?(pid) && ended?(pid) && wait(pid) }
      end

      # Ends and reaps every stranger, and those that fall to us meanwhile.
      def sweep #: () -> void
        deadline = OS.now + SWEEP_SECONDS
        while OS.now < deadline && (left = children.select { |pid| foreign?(pid) }).any?
          left.each { |pid| finish(pid, deadline) }
        end
      end

      private

      def finish(pid, deadline)
        pidfd = OS::Pidfd.open(pid)
        end_one(pidfd)
        pidfd.wait(timeout: [deadline - OS.now, 0].max)
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

      def children
        Dir.glob("/proc/self/task/*/children").flat_map { |path| File.read(path).split.map(&:to_i) }
      rescue Errno::ENOENT, Errno::ESRCH # a thread of ours has ended meanwhile
        []
      end

      def foreign?(pid)
        return false if @ours.call(pid)

        !@program || @groups.key?(Process.getpgid(pid))
      rescue Errno::ESRCH # nothing left to judge
        false
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
  end
end
