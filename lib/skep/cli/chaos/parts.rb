# frozen_string_literal: true

# The parts of `skep chaos`, in reading order.
require "skep/cli/bench"
require "skep/cli/bench/parts"
require "skep/cli/chaos/plan"
require "skep/cli/chaos/deed"
require "skep/cli/chaos/target"
require "skep/cli/chaos/harm"
require "skep/cli/chaos/vitals"
require "skep/cli/chaos/report"
require "skep/cli/chaos/picture"
require "skep/cli/chaos/trial"
