# frozen_string_literal: true

require "json"

# The parts of every benchmark, in reading order.
module Skep
  module Benchmarks
    # The benchmark can't continue; the message is the sentence to print.
    class Failed < Skep::Error
    end
  end
end

require_relative "harness/statistics"
require_relative "harness/figures"
require_relative "harness/machine"
require_relative "harness/checkout"
require_relative "harness/peer"
require_relative "harness/program"
require_relative "harness/subject"
require_relative "harness/compiler"
require_relative "harness/rows"
require_relative "harness/goal"
require_relative "harness/report"
require_relative "harness/results"
require_relative "harness/benchmark"
require_relative "harness/subreaper"
