# frozen_string_literal: true

# The exit codes of skep's commands and processes; docs/reference/exit_codes.md has the table. Those
# from 64 on are of sysexits(3), which systemd and shells know. Lifecycle#exit_code in
# swarm/supervisor/ decides the code of a swarm.
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

    # The exit codes of a failed boot.
    BOOT = [FAILED, UNAVAILABLE, CONFIGURATION].freeze

    # Returns the exit code of a boot that failed with several codes. A wrong configuration takes
    # precedence, because a person must change it; then a missing dependency, which may come back;
    # then an error of unknown cause.
    def self.of_boot(codes) = (BOOT & codes).max || FAILED

    # Returns the exit code of a boot that this error ends. `exit_code` may be the user's own
    # method, which returns or raises anything.
    def self.of_error(error)
      error.is_a?(Skep::Error) ? of_boot([error.exit_code]) : FAILED
    rescue StandardError
      FAILED
    end
  end
end
