# frozen_string_literal: true

# What the programs of this bench share.

require "json"
require_relative "heap"
require_relative "family"
require_relative "preparation"

MEBIBYTE = (1 << 20).to_f

# Runs a measurement and prints its figures, or why there are none, as JSON.
def measure
  puts JSON.generate(yield)
rescue Preparation::Skipped => e
  puts JSON.generate("skipped" => e.message)
end

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Seconds that the block takes.
def seconds
  began = now
  yield
  now - began
end
