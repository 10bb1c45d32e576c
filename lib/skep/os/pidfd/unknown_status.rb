# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # The end of a process whose status the kernel keeps from us, as it is somebody else's child
      # or somebody else reaped it. It answers like a Process::Status that knows nothing.
      #
      #   status = pidfd.wait
      #   status.exitstatus || status.termsig || "unknown"
      class UnknownStatus
        attr_reader :pid #: Integer?, of the process that has ended

        #: (?Integer? pid) -> void
        def initialize(pid = nil)
          @pid = pid
          freeze
        end

        # Not known.
        #: () -> nil
        def exitstatus = nil

        # Not known.
        #: () -> nil
        def termsig = nil

        # Not known.
        #: () -> nil
        def success? = nil

        # It isn't known that it has.
        #: () -> false
        def exited? = false

        # It isn't known that it was.
        #: () -> false
        def signaled? = false

        #: () -> String
        def to_s = "pid #{pid || "?"} ended, status unknown"

        #: () -> String
        def inspect = "#<#{self.class} #{self}>"

        # Two are equal that are of the same process.
        #: (untyped) -> bool
        def ==(other) = other.is_a?(UnknownStatus) && other.pid == pid
      end
    end
  end
end
