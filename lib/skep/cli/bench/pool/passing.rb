# frozen_string_literal: true

# Threads that do jobs, and a caller that waits for them by Thread.pass: it looks, lets others run,
# looks again. The peer that the bench is about; nowhere else does skep wait like this.
class Passing
  #: (Integer threads, Calls calls) -> void
  def initialize(threads, calls)
    @calls = calls
    @jobs = Thread::Queue.new
    @lock = Mutex.new
    threads.times { Thread.new { work } }
  end

  #: (Array[Proc] jobs) -> void
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
