# frozen_string_literal: true

# The CPU that the process takes while one thread computes beside so many that wait, by popping a
# queue or by Thread.pass: only one of them runs at a time, so what the others take, it waits for.
# Other processes' CPU isn't in it. In turns with the same computation alone, so that a processor
# that changes its speed does so for both; the medians of five times.
#
#   ruby beside.rb 9 popping 31       # fib(31)

require "json"
require_relative "fib"
require_relative "passing"

TURNS = 5

threads, way, size = ARGV

beside = lambda do |&work|
  over, begun = Array.new(2) { Thread::Queue.new }
  others = Array.new(threads.to_i) do
    Thread.new do
      begun << true
      way == "passing" ? Passing.for_ever : over.pop
    end
  end
  others.each { begun.pop }
  work.call
ensure
  over.close
  others.each { |other| way == "passing" ? other.kill.join : other.join }
end

computing = lambda do
  began = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_millisecond)
  fib(size.to_i)
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID, :float_millisecond) - began
end

together, alone = Array.new(TURNS) { [beside.call(&computing), computing.call] }.transpose
                       .map { |times| times.sort[TURNS / 2] }
puts JSON.generate("ms" => together, "x alone" => together / alone)
