# frozen_string_literal: true

# Processes that fell to the supervisor because it is their subreaper (or pid 1), and whose end nobody else awaits.
#
#   strangers = Strangers.new(program: false, ours: ->(pid) { … })
#   strangers.reap     # those that have ended; what an orphan of a node leaves as a zombie
#   strangers.sweep    # at the very end: those still there are killed and reaped
#
# The application's own children (those of our process group, in a program that became a supervisor) are never
# touched: they are the application's. Children are listed by /proc/PID/task/TID/children, proc(5).
module Skep
  class Swarm
    class Strangers
      SWEEP_SECONDS = 5.0
      private_constant :SWEEP_SECONDS

      # program: we are somebody's program, and children of its own are to be left alone.
      def initialize(program:, ours:) #: (program: bool, ours: ^(Integer) -> bool) -> void
        @program = program
        @ours = ours
      end

      # Reaps strangers that have ended; returns their pids.
      def reap #: () -> Array[Integer]
        children.select { |pid| ended?(pid) && foreign?(pid) && wait(pid) }
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
        pidfd.signal(:KILL)
        pidfd.wait(timeout: [deadline - OS.now, 0].max)
      rescue Errno::ESRCH, Errno::ECHILD # ended and reaped meanwhile
        nil
      ensure
        pidfd&.close
      end

      def children
        Dir.glob("/proc/self/task/*/children").flat_map { |path| File.read(path).split.map(&:to_i) }
      rescue Errno::ENOENT, Errno::ESRCH # a thread of ours has ended meanwhile
        []
      end

      def foreign?(pid)
        return false if @ours.call(pid)

        !@program || Process.getpgid(pid) != Process.getpgrp
      rescue Errno::ESRCH # nothing left to judge
        false
      end

      def ended?(pid) = File.read("/proc/#{pid}/stat")[/\) (\S)/, 1] == "Z"

      def wait(pid)
        Process.wait(pid, Process::WNOHANG)
      rescue Errno::ECHILD # reaped by somebody else
        nil
      end
    end
  end
end
