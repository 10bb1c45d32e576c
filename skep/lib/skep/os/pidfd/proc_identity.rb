# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # Identifies the process that has a pid, and detects that the pid was reused.
      #
      #   identity = ProcIdentity.of(pid)   # nil if there is no such process
      #   identity.same?                    # true while it exists, also as a zombie
      #   identity.running?                 # true while it runs
      #   identity.close
      #
      # An open file of /proc refers to one process: once that is reaped, a read fails with ESRCH,
      # even if the pid is reused. Without /proc the start time from ps is compared, in seconds.
      # Source: proc(5), /proc/[pid]/stat.
      class ProcIdentity
        def self.of(pid)
          identity = new(pid, File.directory?("/proc/self") ? File.open("/proc/#{pid}/stat") : nil)
          identity.same? ? identity : identity.close
        rescue Errno::ENOENT
          nil # There is no such process.
        end

        def initialize(pid, stat)
          @pid = pid
          @stat = stat
          @started = look&.last
        end

        def same? = !held.nil?

        def running?
          _parent, state, = held
          !state.nil? && !state.start_with?("Z", "X")
        end

        def child? = held&.first == Process.pid

        def close = @stat&.close

        private

        # Returns the facts while the process has the pid.
        def held
          facts = look
          facts if facts && facts.last == @started
        end

        # Returns the parent's pid, the state and the start time of the process with this pid.
        def look = @stat ? from_proc : from_ps

        def from_proc
          ProcessState::Stat.parse(@stat.pread(4096, 0)).to_h.values_at(:parent, :state, :started)
        rescue Errno::ESRCH
          nil # Reaped.
        end

        def from_ps
          line = IO.popen(["ps", "-o", "ppid=,stat=,lstart=", "-p", @pid.to_s], &:read)
          parent, state, started = line.strip.split(/\s+/, 3)
          started && [Integer(parent), state, started]
        end
      end
      private_constant :ProcIdentity
    end
  end
end
