# frozen_string_literal: true

module Skep
  module OS
    class ProcessState
      # One thread of a process, as the kernel shows it.
      #
      #   task = ThreadState.of(pid, tid)
      #   task.name     # => "skep.control", at most 15 bytes
      #   task.wchan    # => the kernel function that it waits in
      #   task.syscall  # => "read(5) /var/spool/queue", "futex", "running"
      #   task.stack    # => kernel functions, innermost first
      #   task.cpu      # => seconds of processor time so far
      class ThreadState < Struct.new(:tid, :name, :state, :cpu, :wchan, :syscall, :stack,
                              keyword_init: true)
        STATES = { "R" => "running", "S" => "sleeping", "D" => "uninterruptible",
                   "T" => "stopped", "t" => "traced", "Z" => "ended", "X" => "ended",
                   "I" => "idle" }.freeze
        private_constant :STATES

        class << self
          def of(pid, tid)
            directory = "/proc/#{pid}/task/#{tid}"
            stat = Stat.of("#{directory}/stat") or return
            new(tid:, name: stat.name, state: STATES.fetch(stat.state, stat.state), cpu: stat.cpu,
                wchan: wchan(directory), syscall: SyscallNames.of(pid, directory),
                stack: stack(directory))
          end

          private

          def wchan(directory)
            channel = ProcessState.read("#{directory}/wchan")
            channel unless ["0", ""].include?(channel)
          end

          def stack(directory)
            ProcessState.read("#{directory}/stack")&.scan(/\] (\S+?)\+/)&.flatten
          end
        end

        def to_plain = to_h.compact
      end
    end
  end
end
