# frozen_string_literal: true

# Batches of jobs, over and over for some milliseconds, in one of the ways: what a job takes, the
# CPU it burns, and the calls its caller makes while it waits for a batch.
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
NEVER, @writer = IO.pipe # open, and nothing comes
calls = Calls.new
pool = Object.const_get(way).new(threads.to_i, calls)
jobs = Array.new(jobs.to_i) { SECONDS.zero? ? -> {} : -> { IO.select([NEVER], nil, nil, SECONDS) } }
pool.run(jobs)

times = []
began, burnt = now, now(Process::CLOCK_PROCESS_CPUTIME_ID)
while times.size < LEAST || now - began < milliseconds.to_f * 1000
  start = now
  pool.run(jobs)
  times << (now - start) / jobs.size
end
burnt = now(Process::CLOCK_PROCESS_CPUTIME_ID) - burnt

puts JSON.generate("µs a job" => median(times), "CPU µs a job" => burnt / times.size / jobs.size,
                   "calls a wait" => calls.during { pool.run(jobs) })
