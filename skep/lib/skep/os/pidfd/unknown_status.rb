# frozen_string_literal: true

module Skep
  module OS
    class Pidfd
      # The exit of a process whose status isn't available, because it isn't our child or other code
      # reaped it. It has the methods of Process::Status.
      #
      #   status = pidfd.wait
      #   status.exitstatus || status.termsig || "unknown"
      class UnknownStatus
        attr_reader :pid # of the process that has exited

        def initialize(pid = nil)
          @pid = pid
          freeze
        end

        # Returns nil, as it isn't known.
        def exitstatus = nil

        # Returns nil, as it isn't known.
        def termsig = nil

        # Returns nil, as it isn't known.
        def success? = nil

        # Returns false: it isn't known to have exited on its own.
        def exited? = false

        # Returns false: it isn't known to have ended by a signal.
        def signaled? = false

        def to_s = "pid #{pid || "?"} ended, status unknown"

        def inspect = "#<#{self.class} #{self}>"

        # Returns true for the status of the same pid.
        def ==(other) = other.is_a?(UnknownStatus) && other.pid == pid
      end
    end
  end
end
