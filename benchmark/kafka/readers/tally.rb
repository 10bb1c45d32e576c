# frozen_string_literal: true

require "digest"
require "json"

# The work of every reader on its messages, and the reports of its progress. The programs in this
# folder load it.
#
#   Tally.work(payload)     # processes a payload
#   Tally.add(500)          # counts so many more messages
#   Tally.wish("topic")
module Tally
  WISHES = JSON.parse(ENV.fetch("SKEP_BENCH_WISHES"))
  EVERY = WISHES.fetch("every")
  REPORTS = "#{ENV.fetch("SKEP_BENCH_FOLDER")}/reports"
  TURNS = 60
  LOCK = Mutex.new
  @done = 0
  @reported = 0

  class << self
    def wish(name) = WISHES[name]

    # Returns librdkafka's settings for this run.
    def settings = { "bootstrap.servers" => wish("brokers"), **wish("settings") }

    def work(payload)
      case wish("work")
      when "json" then JSON.parse(payload)
      when "sums" then TURNS.times { payload = Digest::SHA256.digest(payload) }
      else payload
      end
    end

    def add(count)
      LOCK.synchronize do
        @done += count
        report if @done >= @reported + EVERY
      end
    end

    private

    # Each process opens its own pipe after its fork.
    def report
      @reported = @done
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      @reports = File.open(REPORTS, File::WRONLY) unless @owner == Process.pid
      @owner = Process.pid
      @reports.syswrite("#{@done} #{@owner} #{now}\n")
    end
  end
end
