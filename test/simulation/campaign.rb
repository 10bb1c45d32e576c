# frozen_string_literal: true

require "etc"
require "timeout"
require "simulation/world"

# Runs many seeds, in a process for each processor, and returns those that break an invariant.
#
#   campaign = Campaign.new(1..10_000)
#   campaign.run        # => [[42, "not settled …"], …]
#   campaign.seconds
module Simulation
  class Campaign
    MOST = 40 # failing seeds of a worker, after which it stops
    LIMIT = 60 # real seconds for a seed, which takes some thousandths of one
    private_constant :MOST, :LIMIT

    attr_reader :seconds

    # workers: processes; until_found: stop at the first failure.
    def initialize(seeds, workers: Etc.nprocessors, until_found: false)
      @seeds = seeds
      @workers = workers
      @most = until_found ? 1 : MOST
    end

    def run
      began = now
      pipes = Array.new(@workers) { |number| worker(number) }
      found = pipes.flat_map { |pipe| failures(pipe) }
      Process.waitall
      @seconds = now - began
      found.sort
    end

    # Returns true if a worker has stopped early, after so many failing seeds.
    def gave_up?(found) = found.size >= @most

    # Returns the broken invariant as one sentence, or nil.
    def self.verdict(schedule)
      Timeout.timeout(LIMIT) { World.new(schedule).run.violations.map(&:last).first }
    rescue Timeout::Error
      "a turn has no end"
    end

    private

    def worker(number)
      reader, writer = IO.pipe
      fork do
        reader.close
        work(number, writer)
        writer.close
        World.remove
        exit!(0)
      end
      writer.close
      reader
    end

    def work(number, out)
      failed = 0
      @seeds.each_with_index do |seed, index|
        next unless index % @workers == number

        what = Campaign.verdict(Schedule.of(seed)) or next
        out.puts("#{seed} #{what.delete("\n")}")
        break if (failed += 1) >= @most
      end
    end

    def failures(pipe)
      pipe.each_line.map { |line| line.chomp.split(" ", 2).then { |seed, what| [seed.to_i, what] } }
    ensure
      pipe.close
    end

    def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end

if $PROGRAM_NAME == __FILE__
  campaign = Simulation::Campaign.new(Integer(ARGV[0])..Integer(ARGV[1]))
  found = campaign.run
  found.each { |seed, what| puts "#{seed}: #{what[0, 330]}" }
  puts "#{found.size} failed; #{campaign.seconds.round(1)} s"
end
