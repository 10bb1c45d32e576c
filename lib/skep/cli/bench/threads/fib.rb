# frozen_string_literal: true

# So many computations that need nothing but a processor: one after the other, each in a thread, or
# each in a forked process.
#
#   ruby fib.rb forks 4 31     # => milliseconds until all four fib(31) are known

def fib(number) = number < 2 ? number : fib(number - 1) + fib(number - 2)

def milliseconds
  began = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  yield
  (Process.clock_gettime(Process::CLOCK_MONOTONIC) - began) * 1000
end

WAYS = {
  "one by one" => ->(count, size) { count.times { fib(size) } },
  "threads" => ->(count, size) { Array.new(count) { Thread.new { fib(size) } }.each(&:join) },
  "forks" => lambda do |count, size|
    Array.new(count) { fork { exit!(fib(size).positive?) } }.each { |pid| Process.wait(pid) }
  end
}.freeze

if $PROGRAM_NAME == __FILE__
  way, count, size = ARGV
  puts milliseconds { WAYS.fetch(way).call(count.to_i, size.to_i) }
end
