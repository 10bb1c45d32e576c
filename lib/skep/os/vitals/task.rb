# frozen_string_literal: true

module Skep
  module OS
    class Vitals
      # One thread of a process, as the kernel sees it.
      #
      #   task = Task.of(pid, tid)
      #   task.name     # => "skep.control", 15 bytes of it
      #   task.wchan    # => the kernel's function that it waits in
      #   task.syscall  # => "read(5) /var/spool/queue", "futex", "running"
      #   task.stack    # => the kernel's functions, innermost first
      #   task.cpu      # => seconds it has run so far
      class Task < Struct.new(:tid, :name, :state, :cpu, :wchan, :syscall, :stack,
                              keyword_init: true)
        STATES = { "R" => "running", "S" => "sleeping", "D" => "uninterruptible",
                   "T" => "stopped", "t" => "traced", "Z" => "ended", "X" => "ended",
                   "I" => "idle" }.freeze
        UTIME = 11 # place of utime among the fields after the name and the state, from 0
        HERTZ = 100
        private_constant :STATES, :UTIME, :HERTZ

        class << self
          #: (Integer pid, Integer tid) -> Task?
          def of(pid, tid)
            directory = "/proc/#{pid}/task/#{tid}"
            stat = Vitals.read("#{directory}/stat") or return
            _, name, letter, rest = stat.match(/\A\d+ \((.*)\) (\S) (.*)/m).to_a
            new(tid:, name:, state: STATES.fetch(letter, letter), cpu: cpu(rest.split),
                wchan: wchan(directory), syscall: SystemCalls.of(pid, directory),
                stack: stack(directory))
          end

          private

          #: (Array[String] fields) -> Float
          def cpu(fields) = fields[UTIME - 1, 2].sum(&:to_i).fdiv(HERTZ)

          #: (String directory) -> String?
          def wchan(directory)
            Vitals.read("#{directory}/wchan").then { |text| text unless ["0", ""].include?(text) }
          end

          #: (String directory) -> Array[String]?
          def stack(directory)
            Vitals.read("#{directory}/stack")&.scan(/\] (\S+?)\+/)&.flatten
          end
        end

        #: () -> Hash[Symbol, untyped]
        def to_plain = to_h.compact
      end
    end
  end
end
