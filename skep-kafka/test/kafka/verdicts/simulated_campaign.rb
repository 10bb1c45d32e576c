# frozen_string_literal: true

# The command behind `rake verdicts:simulated`:
#
#   ruby -r./test/load_path skep-kafka/test/kafka/verdicts/simulated_campaign.rb KINDS COUNT SEED
#
# KINDS is "all" or names of SimulatedLife::KINDS with commas. Each wrong verdict is a line; the
# last lines are a table. JOBS: how many processes simulate; 2 by default.
require "English"
require "test_helper"
require "kafka/verdicts/simulated_life"
require "kafka/verdicts/table"
require "json"

module Verdicts
  class SimulatedCampaign
    FAULTS = 4 # of a life
    FACTS = %w[nodes topics ordered_by threads dead_letters max_attempts retry_for max_messages
               marks payloads ends].freeze
    private_constant :FAULTS, :FACTS

    def initialize(kinds, count, seed)
      kinds = kinds == "all" ? SimulatedLife::KINDS : kinds.split(",")
      deck = kinds.cycle.first(count).shuffle(random: Random.new(seed))
      @plans = deck.each_slice(FAULTS).with_index.map do |few, index|
        life = (seed * 1_000) + index
        Plan.new(life, few, **SimulatedLife.options(Random.new(life)))
      end
    end

    # Returns true if it is good enough.
    def run(jobs)
      reader, writer = IO.pipe
      pids = Array.new(jobs) { |job| fork { live(job, jobs, writer) } }
      writer.close
      table = Table.new(reader.each_line.map { |line| told(JSON.parse(line)) })
      pids.each { |pid| Process.wait(pid) }
      puts table
      table.good?
    end

    private

    def live(job, jobs, writer)
      @plans.each_slice(jobs).filter_map { |some| some[job] }.each do |plan|
        SimulatedLife.new(plan).run { |seen| writer.puts(JSON.generate(seen.to_plain)) }
      end
    ensure
      $stderr.puts($ERROR_INFO.full_message) if $ERROR_INFO
      writer.close
      exit!($ERROR_INFO ? 1 : 0)
    end

    def told(one)
      unless one["right"]
        puts format("%8d-%d %-15s %s: %s", one["seed"], one["number"], one["kind"],
                    one["options"].values_at(*FACTS).join(" "), one["why"])
      end
      one
    end
  end
end

if $PROGRAM_NAME == __FILE__
  $stdout.sync = true
  kinds, count, seed = ARGV
  campaign = Verdicts::SimulatedCampaign.new(kinds, Integer(count), Integer(seed))
  good = campaign.run(Integer(ENV.fetch("JOBS", 2)))
  exit!(good ? 0 : 1) # no tests run
end
