# frozen_string_literal: true

# The CPU that the process takes while one thread computes beside so many that wait, by popping a
# queue or by Thread.pass: only one of them runs at a time, so what the others take, it waits for.
# Other processes' CPU isn't in it. The median of three times.
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
cpu = milliseconds(Process::CLOCK_PROCESS_CPUTIME_ID) { fib(size.to_i) }
puts cpu[TIMES / 2]
