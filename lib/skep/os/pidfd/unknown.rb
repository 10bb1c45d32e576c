# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # The end of a process whose status the kernel keeps from us, as it is somebody else's child
      # or somebody else reaped it. It answers like a Process::Status that knows nothing.
      #
      #   status = pidfd.wait
      #   status.exitstatus || status.termsig || "unknown"
      class Unknown
        attr_reader :pid #: Integer?

        #: (?Integer? pid) -> void
        def initialize(pid = nil)
          @pid = pid
          freeze
        end

        #: () -> nil
        def exitstatus = nil

        #: () -> nil
        def termsig = nil

        #: () -> nil
        def success? = nil

        #: () -> false
        def exited? = false

        #: () -> false
        def signaled? = false

        #: () -> String
        def to_s = "pid #{pid || "?"} ended, status unknown"

        #: () -> String
        def inspect = "#<#{self.class} #{self}>"

        #: (untyped) -> bool
        def ==(other) = other.is_a?(Unknown) && other.pid == pid
      end
    end
  end
end
