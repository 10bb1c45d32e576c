# frozen_string_literal: true

# How a process ended, as plain facts that can cross a channel.
#
#   IPC::ExitStatus.of(process_status)             # => #<IPC::ExitStatus exit status 1>
#   IPC::ExitStatus.from({ "signal" => "KILL" })   # the same from the other end of a channel
#   exit.to_s                                      # => "SIGKILL", "exit status 1", "status unknown"
module Skep
  class Swarm
    module IPC
      ExitStatus = Struct.new(:exitstatus, :signal) do
        # A Process::Status, or Pidfd::UnknownStatus where the kernel couldn't tell.
        def self.of(status) #: (untyped) -> IPC::ExitStatus
          new(status.exitstatus, status.termsig && Signal.signame(status.termsig))
        end

        def self.from(plain) #: (Hash[String, untyped]) -> IPC::ExitStatus
          new(plain["exitstatus"], plain["signal"])
        end

        def to_plain #: () -> Hash[String, untyped]
          { "exitstatus" => exitstatus, "signal" => signal }
        end

        def clean? = exitstatus == 0 #: () -> bool

        def to_s #: () -> String
          return "SIG#{signal}" if signal

          exitstatus ? "exit status #{exitstatus}" : "status unknown"
        end
      end

      # The reason of an exit by KILL that the kernel's OOM killer sent.
      ExitStatus::OOM = "oom"
    end
  end
end
