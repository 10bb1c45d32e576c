# frozen_string_literal: true

# What every bench is made of, in reading order. Loaded when one runs.
require "json"

require "skep/cli/bench/statistics"
require "skep/cli/bench/figures"
require "skep/cli/bench/machine"
require "skep/cli/bench/peer"
require "skep/cli/bench/program"
require "skep/cli/bench/contender"
require "skep/cli/bench/compiler"
require "skep/cli/bench/row"
require "skep/cli/bench/rows"
require "skep/cli/bench/goal"
require "skep/cli/bench/finding"
require "skep/cli/bench/report"
require "skep/cli/bench/progress"
require "skep/cli/bench/contest"
require "skep/cli/bench/table"
require "skep/cli/bench/plot"
