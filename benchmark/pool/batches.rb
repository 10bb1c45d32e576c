# frozen_string_literal: true

# Runs batches of jobs repeatedly for some milliseconds in one of the ways. Prints the time and CPU
# of a job, the caller's share of the CPU, and the calls of the caller while it waits.
#
#   ruby batches.rb popping Popping 10 10 1.0 300     # threads, jobs a batch, ms a job, ms in all

require "json"
require_relative "calls"

file, way, threads, jobs, wait, milliseconds = ARGV
require_relative file

def now(clock = Process::CLOCK_MONOTONIC) = Process.clock_gettime(clock, :float_microsecond)

def median(figures) = figures.sort[figures.size / 2]

LEAST = 3
SECONDS = wait.to_f / 1000
NEVER, @writer = IO.pipe # open, and never written to
calls = Calls.new
pool = Object.const_get(way).new(threads.to_i, calls)
jobs = Array.new(jobs.to_i) { SECONDS.zero? ? -> {} : -> { IO.select([NEVER], nil, nil, SECONDS) } }
pool.run(jobs)

CPUS = [Process::CLOCK_PROCESS_CPUTIME_ID, Process::CLOCK_THREAD_CPUTIME_ID].freeze
def burnt = CPUS.map { |clock| now(clock) }

times = []
began, before = now, burnt
while times.size < LEAST || now - began < milliseconds.to_f * 1000
  start = now
  pool.run(jobs)
  times << (now - start) / jobs.size
end
all, own = burnt.zip(before).map { |after, earlier| (after - earlier) / times.size / jobs.size }

puts JSON.generate("µs a job" => median(times), "CPU µs a job" => all, "the caller's" => own,
                   "calls a wait" => calls.during { pool.run(jobs) })
