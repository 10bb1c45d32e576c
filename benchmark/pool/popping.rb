# frozen_string_literal: true

# The same, but the caller waits by popping a queue, once for each job.
class Popping
  def initialize(threads, calls)
    @calls = calls
    @jobs = Thread::Queue.new
    @done = Thread::Queue.new
    threads.times { Thread.new { work } }
  end

  def run(jobs)
    jobs.each { |job| @jobs << job }
    @calls.count { jobs.size.times { @done.pop } }
  end

  private

  def work
    while (job = @jobs.pop)
      job.call
      @done << true
    end
  end
end
