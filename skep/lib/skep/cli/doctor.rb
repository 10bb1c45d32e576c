# frozen_string_literal: true

require "json"

# `skep doctor`: an Inspection starts an InspectedProcess, which loads the file and inspects itself.
module Skep
  module CLI
    module Doctor
    end
  end
end

require "skep/cli/doctor/inspection"
