# frozen_string_literal: true

# Whether this machine promises to have everything that tests and scenarios use: tools, gems, rights
# and a broker. If it does, a test that lacks one of them fails instead of being skipped.
#
#   Means.promised?   # SKEP_NO_SKIP=1, or CI=true unless SKEP_NO_SKIP is something else
module Means
  def self.promised?(env = ENV)
    env.fetch("SKEP_NO_SKIP") { env["CI"] == "true" ? "1" : "0" } == "1"
  end
end
