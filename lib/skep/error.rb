# frozen_string_literal: true

# The root of skep's errors. Each error builds its sentence from facts and says what to do next.
#
#   class Closed < Skep::Error
#     def initialize(pid:) = super("the pidfd of #{pid} is closed: open another")
#   end
#
# A rescue of Skep::Error catches whatever skep itself refuses, and nothing else.
module Skep
  class Error < StandardError
  end

  # Raised by work that can't begin (no broker, no permission): ends the boot with one sentence.
  class BootError < Error
  end
end
