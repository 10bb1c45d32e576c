# frozen_string_literal: true

require "io/wait"
require "skep/os/pidfd/proc_identity"
require "skep/os/pidfd/child_waiter"

module Skep
  module OS
    class Pidfd
      # Pidfd without the kernel's support. Its limits:
      #
      # - a pid may be reused between the check and the signal (and without /proc, as on macOS, a
      #   process that got the pid within the same second counts as the same);
      # - a process that isn't our child can't be watched: #to_io raises Unsupported, and #wait
      #   polls, from every millisecond to four times a second;
      # - the status of such a process is always an UnknownStatus;
      # - of two handles that wait for one child only one gets the status;
      # - from the first #wait or #to_io on, a thread waits for the child and reaps it at once.
      module Fallback
        LONGEST_PAUSE = 0.25
        private_constant :LONGEST_PAUSE

        private

        def attach
          @waiter = nil
          @beginning = Mutex.new # one of several waiting threads starts the waiter
          # For an adopted io, the process must be alive now: later the pid may be reused.
          @identity = ProcIdentity.of(pid)
          @identity = @identity&.close if @io && !running?
          Kernel.raise Errno::ESRCH, "process #{pid}" unless @io || @identity
        end

        def running?
          return EventLoop::ReadyNow.again { |seconds| @io.wait_readable(seconds) }.nil? if @io

          @identity.running?
        end

        def gone?(timeout)
          io = witness
          return vanished?(timeout) unless io

          ready = io.wait_readable(timeout) || exited?
          raise IOError, "closed meanwhile" if @closed

          ready ? true : false
        end

        # Returns true if it has exited, also when signals interrupt the wait.
        def exited?
          @waiter ? @waiter.over? : EventLoop::ReadyNow.again { |seconds| @io.wait_readable(seconds) }
        end

        def reap(_settle)
          @status = @waiter&.status
        end

        def deliver(number, group)
          known = @identity&.same? || (group && @identity && leaderless?)
          Kernel.raise Errno::ESRCH, "process #{pid}" unless known # a swarm file may define raise

          Process.kill(number, group ? -pid : pid)
        end

        # Returns true if no process has the pid. What is left of the group that it led keeps the
        # number from reuse, so it can still be signalled.
        def leaderless?
          Process.getpgid(pid)
          false
        rescue Errno::ESRCH
          true
        end

        # Returns the adopted io, or that of a child's waiter.
        def witness
          return @io if @io

          @waiter = nil if @waiter && !@waiter.ours? # Made before a fork: the child has no thread.
          begin_wait unless @waiter
          release if @closed # by another thread, before the waiter was there
          @waiter&.to_io
        end

        # Not interruptible: the status would be lost with the waiter.
        def begin_wait
          Thread.handle_interrupt(Object => :never) do
            @beginning.synchronize { @waiter ||= (ChildWaiter.new(pid) if @identity.child?) }
          end
        end

        def release
          [@io, @waiter, @identity].each { |own| own&.close }
        end

        def vanished?(timeout)
          deadline = timeout && (OS.now + timeout)
          pause = 0.001
          while @identity.running?
            raise IOError, "closed meanwhile" if @closed

            left = deadline ? deadline - OS.now : pause
            return false unless left.positive?

            IO.select(nil, nil, nil, [pause, left].min)
            pause = [pause * 2, LONGEST_PAUSE].min
          end
          true
        end
      end
      private_constant :Fallback
    end
  end
end
