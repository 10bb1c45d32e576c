# frozen_string_literal: true

require "skep/exit_code"
require "skep/user_error"

# The root of skep's errors. Each error builds its sentence from facts and says what to do next.
#
#   class Closed < Skep::Error
#     def initialize(pid:) = super("the pidfd of #{pid} is closed: open another")
#   end
#
# A rescue of Skep::Error catches whatever skep itself refuses, and nothing else.
module Skep
  class Error < StandardError
    # The exit code of a command, or of a boot, that this error ends.
    def exit_code = ExitCode::FAILED
  end

  # Raised by work that can't begin (no broker, no permission): ends the boot with one sentence and
  # `exit_code`, by default 1. A subclass may return 75 (a dependency isn't there: another attempt
  # may succeed) or 78 (wrong configuration: another attempt would fail, too).
  class BootError < Error
  end
end
