# frozen_string_literal: true

# Functions that the programs of this benchmark share.

require "json"
require_relative "heap"
require_relative "family"
require_relative "preparation"

MEBIBYTE = (1 << 20).to_f

# Runs a measurement and prints its figures as JSON, or the reason why there are none.
def measure
  puts JSON.generate(yield)
rescue Preparation::Skipped => e
  puts JSON.generate("skipped" => e.message)
end

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Returns the seconds that the block takes.
def seconds
  began = now
  yield
  now - began
end
