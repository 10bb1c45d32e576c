# frozen_string_literal: true

require "skep/cli/tell"

# `skep quiet [NAME]`: as TSTP would.
module Skep
  module CLI
    class Quiet < Tell
      PURPOSE = "let a swarm finish what it has and take no more"
      USAGE = "skep quiet [NAME]"
      COMMAND = "quiet"
      EXAMPLES = ["skep quiet", "skep quiet billing"].freeze
    end
  end
end
