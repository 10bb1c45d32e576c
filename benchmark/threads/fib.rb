# frozen_string_literal: true

# Several computations: one after the other, each in a thread, or each in a forked process. The
# figure is the minimum of three runs, because disturbances only add time.
#
#   ruby fib.rb forks 4 31     # => milliseconds until all four fib(31) are known

def fib(number) = number < 2 ? number : fib(number - 1) + fib(number - 2)

TIMES = 3

# Runs them in order, timed by that clock.
def milliseconds(clock = Process::CLOCK_MONOTONIC)
  Array.new(TIMES) do
    began = Process.clock_gettime(clock, :float_millisecond)
    yield
    Process.clock_gettime(clock, :float_millisecond) - began
  end.sort
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
  puts milliseconds { WAYS.fetch(way).call(count.to_i, size.to_i) }.first
end
