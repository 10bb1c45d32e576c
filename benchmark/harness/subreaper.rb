# frozen_string_literal: true

require_relative "../server/process_tree"

# Runs a benchmark in a child, and ends all that it has started once it has ended, also by SIGKILL:
# servers, brokers and their workers would use the processor while the next figures are measured.
#
#   exit(Subreaper.run { Command.start(ARGV) })   # the block returns the exit code
#
# This process is a subreaper, so it inherits what its child leaves, and reaps it: the program that
# stops a broker waits until the broker's pid is free. It passes TERM and HUP on. If it is killed
# itself, its child gets TERM, and ends what it has started. Where pidfds can't be had the block
# runs in this process.
module Skep
  module Benchmarks
    module Subreaper
      SECONDS = 10.0 # for the end of all that was killed
      PASSED_ON = %w[TERM HUP].freeze
      private_constant :SECONDS, :PASSED_ON

      class << self
        # Returns the exit code.
        def run(&)
          return yield unless OS.native? && OS::Pidfd.native?

          OS::ProcessTree::Prctl.subreaper!
          status = reap_until(start(Skep.pidfd(Process.pid), &))
          end_leftovers
          status.exitstatus || (128 + status.termsig)
        end

        private

        # The child begins once signals for it are passed on.
        def start(subreaper)
          begins, begin_now = IO.pipe
          pid = fork do
            begin_now.close
            begins.read
            end_with(subreaper)
            exit(yield)
          end
          child = Skep.pidfd(pid)
          PASSED_ON.each { |name| trap(name) { child.signal(name) } }
          trap("INT") { nil } # a terminal sends it to both
          [begins, begin_now].each(&:close)
          pid
        end

        # Returns the status of that child; reaps inherited ones meanwhile.
        def reap_until(child)
          pid, status = Process.wait2 until pid == child
          status
        end

        # An exception, for which `ensure` runs.
        def end_with(subreaper)
          main = Thread.current
          Thread.new do
            subreaper.to_io.wait_readable
            main.raise(SignalException, "TERM")
          end
        end

        def end_leftovers
          deadline = OS.now + SECONDS
          while OS.now < deadline && (left = ProcessTree.below("self")).any?
            left.each { |pid| finish(pid, deadline) }
          end
        end

        # One that isn't its child is reaped by its parent, or becomes its child.
        def finish(pid, deadline)
          pidfd = Skep.pidfd(pid)
          pidfd.signal(:KILL) if pidfd.alive?
          pidfd.wait(timeout: deadline - OS.now)
        rescue Errno::ESRCH, Errno::ECHILD # it has ended; another process reaps it
          nil
        ensure
          pidfd&.close
        end
      end
    end
  end
end
