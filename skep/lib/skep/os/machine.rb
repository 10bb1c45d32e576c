# frozen_string_literal: true

require "socket"

module Skep
  module OS
    # What this process asks of the kernel beneath it: the time, its processes, the sockets between
    # them, and the files in which the kernel reports. A simulation runs the same code on a machine
    # of its own:
    #
    #   OS.run_on(simulated) { supervisor.run }   # simulated answers the methods below
    #
    # Each method is one call of the kernel's or one object that makes such calls; none decides
    # anything.
    class Machine
      # Monotonic seconds.
      def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

      # Monotonic seconds, with those in which the host was suspended. (Where Ruby has no such
      # clock, as on macOS, the monotonic one continues in a suspend.)
      def now_with_suspends = Process.clock_gettime(SUSPEND_AWARE)

      SUSPEND_AWARE =
        defined?(Process::CLOCK_BOOTTIME) ? Process::CLOCK_BOOTTIME : Process::CLOCK_MONOTONIC
      private_constant :SUSPEND_AWARE

      # What an event loop waits with.
      def poller = EventLoop::Poller.new

      # A handle on a process; io: one that came over a socket.
      def pidfd(pid, io = nil) = Pidfd.new(pid, io)

      def socket_pair = UNIXSocket.pair

      # What sendmsg(2) takes for descriptors that go along.
      def rights(ios) = Socket::AncillaryData.unix_rights(*ios)

      # The text of a file of /proc or /sys. Raises SystemCallError.
      def read(path) = File.read(path)

      # Is there such a file of /proc?
      def exist?(path) = File.exist?(path)

      # The names in a directory of /proc. Raises SystemCallError.
      def children(path) = Dir.children(path)
    end

    @machine = Machine.new.freeze
  end
end
