# frozen_string_literal: true

require "io/wait"
require "json"

# The application of these benchmarks, the same on every server. The servers' programs load it,
# without skep.
#
#   WorkerApp.preload          # in the parent: builds the requested heap
#   WorkerApp.begin            # a worker's first line of work: reports its pid and the time
#   WorkerApp.work             # waits forever; a server with its own loop doesn't need it
#   WorkerApp.busy             # a job that reports its start and never ends
#   WorkerApp.report("done")   # any other word
#
# The environment has the benchmark's folder and settings, as JSON.
module WorkerApp
  FOLDER = ENV.fetch("SKEP_BENCH_FOLDER")
  WISHES = JSON.parse(ENV.fetch("SKEP_BENCH_WISHES"))
  STRING = 232 # bytes of a string that takes about 272 with its slot
  PER_MEBIBYTE = 3_850
  DAY = 86_400

  class << self
    def count = WISHES.fetch("workers")
    def busy? = WISHES.fetch("busy")

    # Returns the server's settings for this row.
    def options = WISHES.fetch("options").transform_keys(&:to_sym)

    def preload
      @heap = Array.new(WISHES.fetch("heap") * PER_MEBIBYTE) { "x" * STRING }
      GC.start
    end

    # Takes the time first. With the file `crash` in the folder a worker fails to boot.
    def begin
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      take_orders if WISHES.fetch("orders")
      report("up", now)
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
      report("busy")
      @silence ||= IO.pipe
      @silence.first.wait_readable(DAY) while true
    end

    def report(word, now = Process.clock_gettime(Process::CLOCK_MONOTONIC))
      line = "#{word} #{Process.pid} #{now}\n"
      File.open("#{FOLDER}/reports", File::WRONLY) { |reports| reports.syswrite(line) }
    end

    private

    # A byte in the worker's pipe makes it hang.
    def take_orders
      path = "#{FOLDER}/orders.#{Process.pid}"
      File.mkfifo(path)
      orders = File.open(path, File::RDWR)
      Thread.new { get_stuck if orders.read(1) }
    end

    # Locks a mutex that it holds: in C, with the GVL, forever.
    def get_stuck
      require "fiddle"
      address = Fiddle::Handle::DEFAULT["pthread_mutex_lock"]
      lock = Fiddle::Function.new(address, [Fiddle::TYPE_VOIDP], Fiddle::TYPE_INT, need_gvl: true)
      mutex = Fiddle::Pointer["\0" * 64]
      2.times { lock.call(mutex) }
    end
  end
end
