# frozen_string_literal: true

# Threads that count for some milliseconds. Prints the first thread's share of the whole count in
# percent. It calls Thread.pass after each count, or doesn't.
#
#   ruby share.rb 10 1000 passing

require "json"
require_relative "passing"

threads, milliseconds, way = ARGV
over = false
counter = lambda do
  Thread.new do
    turns = 1 # so that the shares of threads which never ran can be computed
    turns += 1 until over
    turns
  end
end

first = way == "passing" ? Passing.counter { over } : counter.call
others = Array.new(threads.to_i - 1) { counter.call }
IO.pipe { |never, _| IO.select([never], nil, nil, milliseconds.to_f / 1000) }
over = true
turns = [first, *others].map(&:value)
puts JSON.generate("share of the work, %" => turns.first * 100.0 / turns.sum)
