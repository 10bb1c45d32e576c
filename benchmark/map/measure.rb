# frozen_string_literal: true

# Maps one kind of items in one way, and prints the median of some repetitions.
#
#   ruby -r./load_path measure.rb skep integers 50000
#   ruby -I parallel/lib measure.rb parallel megabytes 100
#
# It fails if a result is wrong.

require "json"
require_relative "kinds"
require_relative "ways"

SECONDS = 1.0
FEWEST, MOST = 3, 25

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

# Returns the time of the block and its value.
def timed
  began = now
  result = yield
  [now - began, result]
end

# Returns as many figures as fit in a second, within limits.
def repeat
  by = now + SECONDS
  figures = []
  figures << yield while figures.size < FEWEST || (figures.size < MOST && now < by)
  figures
end

def mebibytes_resident
  File.read("/proc/self/status")[/^VmRSS:\s+(\d+)/, 1].to_i / 1024.0
rescue Errno::ENOENT # no Linux
  nil
end

way = Ways.load(ARGV[0])
kind = Kinds.load(ARGV[1], Integer(ARGV[2]))
way.prepare
way.map(kind.items.first(2), kind.work) # loads what the first use loads
times = repeat do
  seconds, results = timed { way.map(kind.items, kind.work) }
  abort "#{results.size} results, and not the right ones" unless kind.right?(results)
  seconds
end
median = times.sort[times.size / 2] * 1e6 / kind.units
puts JSON.generate({ "µs" => median, "RSS MiB" => kind.heap && mebibytes_resident }.compact)
