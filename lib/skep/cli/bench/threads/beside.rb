# frozen_string_literal: true

# How long one thread computes beside so many that wait, by popping a queue or by Thread.pass.
#
#   ruby beside.rb 9 popping 31       # fib(31)

require_relative "fib"
require_relative "passing"

threads, way, size = ARGV
never, begun = Array.new(2) { Thread::Queue.new }
threads.to_i.times do
  Thread.new do
    begun << true
    way == "passing" ? Passing.for_ever : never.pop
  end
end
threads.to_i.times { begun.pop }
puts milliseconds { fib(size.to_i) }
