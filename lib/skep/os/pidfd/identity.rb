# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # Who holds a number: told apart from a later holder by the time it was started.
      #
      #   identity = Identity.of(pid)   # nil when nobody does
      #   identity.same?                # does the same process still hold it, be it a zombie?
      #   identity.running?             # and is it no zombie?
      #
      # Read from /proc where there is one, else from ps. Source: proc(5), /proc/[pid]/stat.
      class Identity
        #: (Integer pid) -> Identity?
        def self.of(pid)
          _parent, _state, started = read(pid)
          started && new(pid, started)
        end

        # Parent's pid, state, and start time.
        #
        #: (Integer pid) -> [Integer, String, String]?
        def self.read(pid)
          File.directory?("/proc/self") ? from_proc(pid) : from_ps(pid)
        end

        #: (Integer pid) -> [Integer, String, String]?
        def self.from_proc(pid)
          # The command stands in parentheses and may hold any byte: the last of them ends it.
          fields = whole("/proc/#{pid}/stat").rpartition(")").last.split
          [Integer(fields[1]), fields[0], fields[19]]
        rescue Errno::ENOENT, Errno::ESRCH
          nil # Gone before or while we read.
        end

        # A file of /proc, which never blocks. Interrupted between its opening and its closing by
        # what another thread raises, Ruby would leave it open.
        #
        #: (String) -> String
        def self.whole(path) = Thread.handle_interrupt(Object => :never) { File.binread(path) }

        #: (Integer pid) -> [Integer, String, String]?
        def self.from_ps(pid)
          line = IO.popen(["ps", "-o", "ppid=,stat=,lstart=", "-p", pid.to_s], &:read)
          parent, state, started = line.strip.split(/\s+/, 3)
          started && [Integer(parent), state, started]
        end

        #: (Integer pid, String started) -> void
        def initialize(pid, started)
          @pid = pid
          @started = started
        end

        #: () -> bool
        def same? = self.class.read(@pid)&.last == @started

        #: () -> bool
        def running?
          _parent, state, started = self.class.read(@pid)
          started == @started && !state.start_with?("Z", "X")
        end

        #: () -> bool
        def child?
          parent, _state, started = self.class.read(@pid)
          started == @started && parent == Process.pid
        end
      end
      private_constant :Identity
    end
  end
end
