# frozen_string_literal: true

require "digest"
require "json"

# What every reader does with its messages, and how it tells that it did. Loaded by the programs
# beside it.
#
#   Tally.work(payload)     # what is to be done with a payload
#   Tally.add(500)          # so many more are done
#   Tally.wish("topic")
module Tally
  WISHES = JSON.parse(ENV.fetch("SKEP_BENCH_WISHES"))
  EVERY = WISHES.fetch("every")
  WITNESS = "#{ENV.fetch("SKEP_BENCH_FOLDER")}/witness"
  TURNS = 60
  LOCK = Mutex.new
  @done = 0
  @told = 0

  class << self
    def wish(name) = WISHES[name]

    # librdkafka's settings for this run.
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
        tell if @done >= @told + EVERY
      end
    end

    private

    # Opened by each process for itself, after its fork.
    def tell
      @told = @done
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      @witness = File.open(WITNESS, File::WRONLY) unless @owner == Process.pid
      @owner = Process.pid
      @witness.syswrite("#{@done} #{@owner} #{now}\n")
    end
  end
end
