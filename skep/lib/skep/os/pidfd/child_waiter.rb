# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # A thread that waits for one child and then makes a pipe readable.
      #
      #   waiter = ChildWaiter.new(pid)
      #   IO.select([waiter.to_io])
      #   waiter.status              # nil if other code reaped it
      #
      # It writes a byte instead of closing the pipe: forked siblings may have copies of its end.
      class ChildWaiter
        attr_reader :to_io

        def initialize(pid)
          @to_io, @witness = OS.pipe
          @owner = Process.pid
          @thread = self.class.watch(pid, @witness)
        end

        # A class method, so that the thread's block doesn't keep the waiter from being collected.
        # Only the wait may be interrupted.
        def self.watch(pid, witness)
          Thread.new do
            Thread.current.name = "skep.waiter"
            Thread.current.report_on_exception = false
            Thread.current[:status] = interruptible { Process.wait2(pid).last }
          rescue Errno::ECHILD
            nil # Other code reaped it: the status is lost.
          ensure
            # A kill between Ruby's close of the IO and the system's would leave the fd open.
            Thread.handle_interrupt(Object => :never) { report(witness) }
          end
        end

        def self.interruptible(&) = Thread.handle_interrupt(Object => :immediate, &)

        def self.report(witness)
          Thread.current[:over] = true
          witness.write(".")
        rescue Errno::EPIPE
          nil # The reader is closed.
        ensure
          witness.close
        end
        private_class_method :interruptible, :report

        def status = @thread[:status]

        # Returns true once the pipe is readable, or is about to be.
        def over? = @thread.key?(:over)

        # Returns false in a forked child, which doesn't have the thread.
        def ours? = @owner == Process.pid

        # The kill may arrive between the thread's last write and its close of the pipe.
        def close
          @thread.kill.join if ours?
          [@to_io, @witness].each(&:close)
        end
      end
      private_constant :ChildWaiter
    end
  end
end
