# frozen_string_literal: true

# Threads that run jobs, and a caller that waits for them by polling with Thread.pass. This is the
# baseline of the benchmark; skep itself never waits like this.
class Passing
  def initialize(threads, calls)
    @calls = calls
    @jobs = Thread::Queue.new
    @lock = Mutex.new
    threads.times { Thread.new { work } }
  end

  def run(jobs)
    @done = 0
    jobs.each { |job| @jobs << job }
    @calls.count { Thread.pass until @done == jobs.size }
  end

  private

  def work
    while (job = @jobs.pop)
      job.call
      @lock.synchronize { @done += 1 }
    end
  end
end
