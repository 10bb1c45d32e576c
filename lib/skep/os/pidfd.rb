# frozen_string_literal: true

require "skep/os/pidfd/unknown_status"
require "skep/os/pidfd/fallback"

# A handle on one process: whatever happens to its number, the handle never means another process.
#
#   pidfd = Skep.pidfd(pid)
#   pidfd.signal(:TERM)
#   status = pidfd.wait(timeout: 5) or pidfd.signal(:KILL)
#   IO.select([pidfd])             # readable once the process is dead
#   pidfd.close
#
# It reaps only this process, and only if that is our child: it never waits for any other.
# `$?` is left to chance by #wait. Sources: pidfd_open(2), pidfd_send_signal(2), waitid(2).
module Skep
  module OS
    class Pidfd
      # Raised by the use of a pidfd after its close.
      class Closed < Error
        #: (pid: Integer) -> void
        def initialize(pid:)
          super("the pidfd of process #{pid} is closed: open another with Skep.pidfd(#{pid})")
        end
      end

      include Fallback
      extend Fallback::Many

      # Seconds that #wait, its own deadline allowing, gives a stranger's parent to reap it:
      # only then does the kernel (6.15) tell everybody the status.
      SETTLE = 0.1
      private_constant :SETTLE

      # Raises Errno::ESRCH when there is no such process.
      #
      #: (Integer pid) -> Pidfd
      def self.open(pid) = new(pid)

      # Wraps a pidfd received over a UNIX socket (SCM_RIGHTS) and takes the io over:
      # from now on it is closed by #close. `pid` is what the sender says.
      #
      #: (IO, Integer pid) -> Pidfd
      def self.adopt(io, pid) = new(pid, io)

      # Does the kernel keep these handles, or the fallback?
      #
      #: () -> bool
      def self.native? = instance_method(:attach).owner == self

      attr_reader :pid #: Integer, of the process

      #: (Integer pid, ?IO? io) -> void
      def initialize(pid, io = nil)
        @pid = Integer(pid)
        raise ArgumentError, "pid must be positive, not #{@pid}" unless @pid.positive?

        @status = nil
        @closed = @held = false
        @io = io && own(io)
        attach
      end

      # False from death on, be it reaped or not.
      #
      #: () -> bool
      def alive?
        assert_open
        !@status && running?
      end

      # Sends a signal (15, "TERM", "SIGTERM", :TERM; 0 only looks) and raises Errno::ESRCH after
      # death, Errno::EPERM if it isn't allowed. `group: true` signals the process group led by it.
      #
      #: (Integer | String | Symbol, ?group: bool) -> self
      def signal(sig, group: false)
        assert_open
        number = OS.signal_number(sig)
        raise Errno::ESRCH, "process #{pid}" unless group || alive?

        deliver(number, group)
        self
      end

      # Kills what is left of the process group that it led, once it is dead. A child must not have
      # been reaped yet: until then its number is nobody else's.
      #
      #: () -> void
      def kill_leftover_group
        signal(:KILL, group: true) unless alive?
      rescue Errno::ESRCH, Errno::EPERM # none left; or another user's, whom we may not signal
        nil
      end

      # Waits for the end of the process, for at most `timeout` seconds (nil: for ever), and reaps
      # it if it is our child. A status once told is told again. Other threads run meanwhile.
      #
      #: (?timeout: Numeric?) -> (Process::Status | UnknownStatus)?
      def wait(timeout: nil)
        assert_open
        return @status if @status
        timeout &&= [timeout, 0].max
        return unless gone?(timeout)

        reap(timeout ? [timeout, SETTLE].min : SETTLE)
        @status || UnknownStatus.new(pid)
      rescue IOError
        # Another thread closed it under our feet.
        raise Closed.new(pid: pid)
      end

      # An IO that becomes readable at the end of the process. It stays ours: close the Pidfd.
      #
      #: () -> IO
      def to_io
        assert_open
        witness or raise Unsupported.new(what: "watching process #{pid}",
                                         because: "it is no child of this one")
      end

      # Can #to_io be had? Always in C, of children only in the fallback.
      #
      #: () -> bool
      def watchable?
        assert_open
        !witness.nil?
      end

      # For one of many, in a process that forks: children can let go of it without a write to it
      # (Pidfd.abandon), as its descriptor is closed by #close alone and never by the garbage
      # collector.
      #
      #: () -> self
      def hold
        @held = true
        @io&.autoclose = false
        self
      end

      # Lets the handle go; the process goes on. Twice is fine.
      #
      #: () -> nil
      def close
        return if @closed

        @io.autoclose = true if @held && @io && !@io.closed?
        @closed = true
        release
        nil
      end

      # Has the handle been let go?
      #: () -> bool
      def closed? = @closed || (@io ? @io.closed? : false)

      #: () -> String
      def inspect
        "#<#{self.class} pid=#{pid} #{closed? ? "closed" : @status || "open"}>"
      end

      private

      #: () -> void
      def assert_open
        raise Closed.new(pid: pid) if closed?
      end

      #: (IO) -> IO
      def own(io)
        io.close_on_exec = true
        io.autoclose = true
        io
      end
    end
  end
end
