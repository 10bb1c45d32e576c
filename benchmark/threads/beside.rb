# frozen_string_literal: true

# The CPU time of the process while one thread computes and others wait, by popping a queue or by
# Thread.pass. Only one thread runs at a time, so the thread that computes waits for the others.
# It alternates with the same computation alone, so that a change of the processor's speed affects
# both. The figures are medians of five runs.
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
      way == "passing" ? Passing.forever : over.pop
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
