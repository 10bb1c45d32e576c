# frozen_string_literal: true

# How much longer tests and scenarios wait than an idle machine needs, before they fail: a busy one
# may take several times as long. SKEP_PATIENCE sets another factor.
#
#   Patience.of(30)   # seconds
module Patience
  FACTOR = Float(ENV.fetch("SKEP_PATIENCE", 3))
  private_constant :FACTOR

  def self.of(seconds) = seconds * FACTOR
end
