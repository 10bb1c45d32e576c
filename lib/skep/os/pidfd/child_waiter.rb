# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # A thread that waits for one child and then makes a pipe readable.
      #
      #   waiter = ChildWaiter.new(pid)
      #   IO.select([waiter.to_io])
      #   waiter.status              # nil if somebody else reaped it
      #
      # A byte is written rather than the pipe closed: forked siblings may hold copies of its end.
      class ChildWaiter
        attr_reader :to_io #: IO

        #: (Integer pid) -> void
        def initialize(pid)
          @to_io, @witness = OS.pipe
          @owner = Process.pid
          @thread = self.class.watch(pid, @witness)
        end

        # In a class method, so that the thread doesn't keep the waiter from the garbage collector.
        # Only its wait may be interrupted, wherever it is begun.
        #
        #: (Integer pid, IO witness) -> Thread
        def self.watch(pid, witness)
          Thread.new do
            Thread.current.name = "skep.waiter"
            Thread.current.report_on_exception = false
            Thread.current[:status] = interruptible { Process.wait2(pid).last }
          rescue Errno::ECHILD
            nil # Somebody else reaped it: the status is lost, the end is known.
          ensure
            # A kill that came between Ruby's forgetting of a descriptor and the system's would
            # leave it open.
            Thread.handle_interrupt(Object => :never) { tell(witness) }
          end
        end

        #: () { () -> untyped } -> untyped
        def self.interruptible(&) = Thread.handle_interrupt(Object => :immediate, &)

        #: (IO witness) -> void
        def self.tell(witness)
          Thread.current[:over] = true
          witness.write(".")
        rescue Errno::EPIPE
          nil # Nobody watches any more.
        ensure
          witness.close
        end
        private_class_method :interruptible, :tell

        #: () -> Process::Status?
        def status = @thread[:status]

        # Has it been told, or is just about to be?
        #
        #: () -> bool
        def over? = @thread.key?(:over)

        # False in a forked child, where the thread is lost.
        #
        #: () -> bool
        def ours? = @owner == Process.pid

        # The kill may come between the thread's last word and its close of the pipe.
        #
        #: () -> void
        def close
          @thread.kill.join if ours?
          [@to_io, @witness].each(&:close)
        end
      end
      private_constant :ChildWaiter
    end
  end
end
