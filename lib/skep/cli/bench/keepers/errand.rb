# frozen_string_literal: true

require "io/wait"
require "json"

# What every worker does, whoever keeps it: the application of these benches. Loaded by the keepers'
# programs, without skep.
#
#   Errand.preload          # in the parent: the heap that is asked for
#   Errand.begin            # a worker's first line of work: says so, with its pid and the time
#   Errand.work             # nothing, for ever; what a keeper with a loop of its own doesn't need
#   Errand.busy             # a job that never ends, and says when it begins
#
# The bench asks for more through the environment: its folder, and its wishes as JSON.
module Errand
  FOLDER = ENV.fetch("SKEP_BENCH_FOLDER")
  WISHES = JSON.parse(ENV.fetch("SKEP_BENCH_WISHES"))
  STRING = 232 # bytes of a string that with its slot takes 272 or so
  PER_MEBIBYTE = 3_850
  DAY = 86_400

  class << self
    def count = WISHES.fetch("workers")
    def busy? = WISHES.fetch("busy")

    # The keeper's own settings for this row.
    def options = WISHES.fetch("options").transform_keys(&:to_sym)

    def preload
      @heap = Array.new(WISHES.fetch("heap") * PER_MEBIBYTE) { "x" * STRING }
      GC.start
    end

    # Time first. With the file `crash` in the folder a worker dies as one that can't boot.
    def begin
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      obey if WISHES.fetch("orders")
      say("up", now)
      exit!(1) if File.exist?("#{FOLDER}/crash")
    end

    def work
      busy? ? busy : idle(DAY) while true
    end

    # Waits without any reason to wake up.
    def idle(seconds)
      @silence ||= IO.pipe
      @silence.first.wait_readable(seconds)
    end

    def busy
      say("busy", Process.clock_gettime(Process::CLOCK_MONOTONIC))
      @silence ||= IO.pipe
      @silence.first.wait_readable(DAY) while true
    end

    private

    def say(word, now)
      line = "#{word} #{Process.pid} #{now}\n"
      File.open("#{FOLDER}/witness", File::WRONLY) { |witness| witness.syswrite(line) }
    end

    # A byte in the worker's own pipe tells it to get stuck.
    def obey
      path = "#{FOLDER}/orders.#{Process.pid}"
      File.mkfifo(path)
      orders = File.open(path, File::RDWR)
      Thread.new { get_stuck if orders.read(1) }
    end

    # Takes a lock that it has: in C, with the GVL, for ever.
    def get_stuck
      require "fiddle"
      address = Fiddle::Handle::DEFAULT["pthread_mutex_lock"]
      lock = Fiddle::Function.new(address, [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT, need_gvl: true)
      mutex = Fiddle::Pointer["\0" * 64]
      2.times { lock.call(mutex) }
    end
  end
end
