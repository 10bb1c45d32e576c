# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # Who holds a number: never taken for one who holds it later.
      #
      #   identity = ProcIdentity.of(pid)   # nil when nobody does
      #   identity.same?                    # does the same process still hold it, be it a zombie?
      #   identity.running?                 # and is it no zombie?
      #   identity.close
      #
      # An open file of /proc means its process for good: once that is reaped it reads ESRCH,
      # whoever has the number then. Where there is no /proc, ps tells when the holder was started,
      # to the second. Source: proc(5), /proc/[pid]/stat.
      class ProcIdentity
        #: (Integer pid) -> ProcIdentity?
        def self.of(pid)
          identity = new(pid, File.directory?("/proc/self") ? File.open("/proc/#{pid}/stat") : nil)
          identity.same? ? identity : identity.close
        rescue Errno::ENOENT
          nil # Nobody does.
        end

        #: (Integer pid, File? stat) -> void
        def initialize(pid, stat)
          @pid = pid
          @stat = stat
          @started = look&.last
        end

        #: () -> bool
        def same? = !held.nil?

        #: () -> bool
        def running?
          _parent, state, = held
          !state.nil? && !state.start_with?("Z", "X")
        end

        #: () -> bool
        def child? = held&.first == Process.pid

        #: () -> nil
        def close = @stat&.close

        private

        # What is known of the process while it holds the number.
        #
        #: () -> [Integer, String, String]?
        def held
          facts = look
          facts if facts && facts.last == @started
        end

        # Parent's pid, state, and start time of who holds the number.
        #
        #: () -> [Integer, String, String]?
        def look = @stat ? from_proc : from_ps

        #: () -> [Integer, String, String]?
        def from_proc
          # The command stands in parentheses and may hold any byte: the last of them ends it.
          fields = @stat.pread(4096, 0).b.rpartition(")").last.split
          [Integer(fields[1]), fields[0], fields[19]]
        rescue Errno::ESRCH
          nil # Reaped.
        end

        #: () -> [Integer, String, String]?
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
