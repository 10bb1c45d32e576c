# frozen_string_literal: true

require "skep/os/pidfd/unknown_status"
require "skep/os/pidfd/fallback"

# A handle on one process. It never refers to another process, even if the pid is reused.
#
#   pidfd = Skep.pidfd(pid)
#   pidfd.signal(:TERM)
#   status = pidfd.wait(timeout: 5) or pidfd.signal(:KILL)
#   IO.select([pidfd])             # readable once the process has exited
#   pidfd.close
#
# It reaps only this process, and only if it is our child. #wait may or may not set `$?`.
# UnknownStatus stands for a status that the kernel doesn't show. Sources: pidfd_open(2),
# pidfd_send_signal(2), waitid(2).
module Skep
  module OS
    class Pidfd
      # Raised by a method of a closed pidfd.
      class Closed < Error
        def initialize(pid:)
          super("the pidfd of process #{pid} is closed: open another with Skep.pidfd(#{pid})")
        end
      end

      include Fallback

      # Seconds that #wait, within its timeout, waits for the parent of another's child to reap it:
      # only then does the kernel (6.15) show the status to others.
      SETTLE = 0.1
      private_constant :SETTLE

      # Raises Errno::ESRCH when there is no such process.
      def self.open(pid) = OS.machine.pidfd(pid)

      # Wraps a pidfd received over a UNIX socket (SCM_RIGHTS). The pidfd owns the io and closes it.
      # `pid` is the sender's word.
      def self.adopt(io, pid) = OS.machine.pidfd(pid, io)

      # Returns true if these are the kernel's pidfds, not the fallback's.
      def self.native? = instance_method(:attach).owner == self

      attr_reader :pid # of the process

      def initialize(pid, io = nil)
        @pid = Integer(pid)
        raise ArgumentError, "pid must be positive, not #{@pid}" unless @pid.positive?

        @status = nil
        @closed = false
        @io = io && own(io)
        attach
      end

      # Returns false once the process has exited, reaped or not.
      def alive?
        assert_open
        !@status && running?
      end

      # Sends a signal (15, "TERM", "SIGTERM", :TERM; 0 only checks). Raises Errno::ESRCH after the
      # exit, Errno::EPERM without permission. `group: true` signals the process group it leads.
      def signal(sig, group: false)
        assert_open
        number = OS.signal_number(sig)
        raise Errno::ESRCH, "process #{pid}" unless group || alive?

        deliver(number, group)
        self
      end

      # Kills the rest of the process group that it led, once it has exited. A child must not have
      # been reaped yet: until then the number is not reused.
      def kill_leftover_group
        signal(:KILL, group: true) unless alive?
      rescue Errno::ESRCH, Errno::EPERM # none left, or another user's
        nil
      end

      # Waits for the exit of the process, for at most `timeout` seconds (nil: no limit), and reaps
      # it if it is our child. Later calls return the same status. Other threads run meanwhile.
      def wait(timeout: nil)
        assert_open
        return @status if @status

        timeout &&= [timeout, 0].max
        return unless gone?(timeout)

        reap(timeout ? [timeout, SETTLE].min : SETTLE)
        @status || UnknownStatus.new(pid)
      rescue IOError
        # Another thread closed it meanwhile.
        raise Closed.new(pid: pid)
      end

      # Returns how a process has failed that its parent, another process, has yet to reap: its exit
      # status and the number of its signal, one of them nil. Returns nil if the kernel doesn't show
      # that, and for exit status 0: it stands for "not permitted", too. Source: proc(5), exit_code.
      def failure
        assert_open
        stat = ProcessState::Stat.of("/proc/#{pid}/stat")
        deliver(0, false) # it has this pid still: what was read is its own
        return if stat.nil? || stat.state != "Z" || stat.exit_code.zero?

        signal = stat.exit_code & 0x7f
        signal.zero? ? [stat.exit_code >> 8, nil] : [nil, signal]
      rescue SystemCallError # it is reaped
        nil
      end

      # Returns an IO that becomes readable when the process exits. Close the Pidfd, not the IO.
      def to_io
        assert_open
        witness or raise Unsupported.new(what: "watching process #{pid}",
                                         because: "it is no child of this one")
      end

      # Returns true if #to_io works: always in C, only for children in the fallback.
      def watchable?
        assert_open
        !witness.nil?
      end

      # Closes the handle; the process continues. May be called again.
      def close
        return if @closed

        @closed = true
        release
        nil
      end

      # Returns true once it is closed: only `pid` and `inspect` work from then on.
      def closed? = @closed || (@io ? @io.closed? : false)

      def inspect
        "#<#{self.class} pid=#{pid} #{closed? ? "closed" : @status || "open"}>"
      end

      private

      def assert_open
        raise Closed.new(pid: pid) if closed?
      end

      def own(io)
        io.close_on_exec = true
        io.autoclose = true
        io
      end
    end
  end
end
