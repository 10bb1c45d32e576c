# frozen_string_literal: true

require "io/wait"
require "skep/os/pidfd/proc_identity"
require "skep/os/pidfd/child_waiter"

module Skep
  module OS
    class Pidfd
      # Pidfd without the kernel's help. What it can't do:
      #
      # - be sure: between the look at who holds a number and the signal sent to it lies a moment
      #   (and without /proc, as on macOS, who got the number within a second passes for the same);
      # - watch a stranger: #to_io raises Unsupported, and #wait looks again and again, from every
      #   millisecond to four times a second;
      # - tell a stranger's status: it is Unknown always;
      # - tell a child's status to two handles that both wait for it: one of them gets it;
      # - leave a child alone: from the first #wait or #to_io on, a thread waits for it and reaps it
      #   at once, before any #wait.
      module Fallback
        LONGEST_PAUSE = 0.25
        private_constant :LONGEST_PAUSE

        # The class' own.
        module Many
          # In a forked child: closes many that were held (#hold), which are of no use from then on.
          #
          #: (Array[Pidfd]) -> void
          def abandon(pidfds) = pidfds.each(&:close)
        end

        private

        #: () -> void
        def attach
          @waiter = nil
          @beginning = Mutex.new # of several threads that wait one begins
          # Of an adopted io's process it is taken while that lives, or never.
          @identity = ProcIdentity.of(pid)
          @identity = @identity&.close if @io && !running?
          raise Errno::ESRCH, "process #{pid}" unless @io || @identity
        end

        #: () -> bool
        def running?
          return EventLoop::ReadyNow.again { |seconds| @io.wait_readable(seconds) }.nil? if @io

          @identity.running?
        end

        #: (Numeric? timeout) -> bool
        def gone?(timeout)
          io = witness
          return vanished?(timeout) unless io

          ready = io.wait_readable(timeout) || told?
          raise IOError, "closed meanwhile" if @closed

          ready ? true : false
        end

        # For certain, whatever signals come; of an adopted io as sure as Ruby can be.
        #
        #: () -> boolish
        def told?
          @waiter ? @waiter.over? : EventLoop::ReadyNow.again { |seconds| @io.wait_readable(seconds) }
        end

        #: (Numeric settle) -> void
        def reap(_settle)
          @status = @waiter&.status
        end

        #: (Integer, bool) -> void
        def deliver(number, group)
          raise Errno::ESRCH, "process #{pid}" unless @identity&.same?

          Process.kill(number, group ? -pid : pid)
        end

        # The adopted io, or that of a waiter, for a child.
        #
        #: () -> IO?
        def witness
          return @io if @io

          @waiter = nil if @waiter && !@waiter.ours? # Made before a fork: its thread isn't here.
          begin_wait unless @waiter
          release if @closed # by another thread, which saw no waiter yet
          @waiter&.to_io
        end

        # One that is lost would take the status with it.
        #
        #: () -> void
        def begin_wait
          Thread.handle_interrupt(Object => :never) do
            @beginning.synchronize { @waiter ||= (ChildWaiter.new(pid) if @identity.child?) }
          end
        end

        #: () -> void
        def release
          [@io, @waiter, @identity].each { |own| own&.close }
        end

        #: (Numeric? timeout) -> bool
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
