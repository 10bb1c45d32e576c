# frozen_string_literal: true

# How a process ended, as it crosses a channel in `exited`.
#
#   ExitStatus.of(process_status)            # => #<IPC::ExitStatus exit status 1>
#   ExitStatus.from({ "signal" => "KILL" })  # the same, from a message's fields
#   exit.to_s                                # => "SIGKILL", "exit status 1", "status unknown"
module Skep
  class Swarm
    module IPC
      ExitStatus = Struct.new(:exitstatus, :signal) do
        # A Process::Status, or Pidfd::UnknownStatus if the kernel couldn't tell.
        def self.of(status) = numbered(status.exitstatus, status.termsig)

        # The signal by its number. Ruby has no names for real-time signals.
        def self.numbered(exitstatus, signal)
          new(exitstatus, signal && (Signal.signame(signal) || signal.to_s))
        end

        def self.from(plain)
          new(plain["exit_status"], plain["signal"])
        end

        def to_plain
          { "exit_status" => exitstatus, "signal" => signal }
        end

        def clean? = exitstatus == 0

        def to_s
          return "SIG#{signal}" if signal

          exitstatus ? "exit status #{exitstatus}" : "status unknown"
        end
      end

      # The reason of an exit by KILL that the kernel's OOM killer sent.
      ExitStatus::OOM = "oom"
    end
  end
end
