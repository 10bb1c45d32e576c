# frozen_string_literal: true

# The exit codes of skep's commands and processes; docs/reference/exit_codes.md has the table. From
# 64 on they are those of sysexits(3), which systemd and shells know. A swarm's is decided in
# Swarm::Supervisor::Lifecycle#exit_code.
module Skep
  module ExitCode
    OK = 0
    FAILED = 1
    FORCED = 2
    ORPHANED = 3
    CRASH_LOOP = 4
    USAGE = 64
    UNAVAILABLE = 75
    CONFIGURATION = 78

    # Those that a boot that came to nothing may end with.
    BOOT = [FAILED, UNAVAILABLE, CONFIGURATION].freeze

    # The exit code of a boot that failed for these reasons: a wrong configuration needs a person,
    # so it goes before a dependency that may come back, and that before an error of unknown cause.
    def self.of_boot(codes) = (BOOT & codes).max || FAILED

    # The exit code of a boot that this error ends. `exit_code` may be the user's own method, which
    # returns or raises anything.
    def self.of_error(error)
      error.is_a?(Skep::Error) ? of_boot([error.exit_code]) : FAILED
    rescue StandardError
      FAILED
    end
  end
end
