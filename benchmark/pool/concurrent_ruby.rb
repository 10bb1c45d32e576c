# frozen_string_literal: true

require "concurrent"

# The pool of concurrent-ruby, with its latch to wait for a batch.
class ConcurrentRuby
  def initialize(threads, calls)
    @calls = calls
    @pool = Concurrent::FixedThreadPool.new(threads)
  end

  def run(jobs)
    latch = Concurrent::CountDownLatch.new(jobs.size)
    jobs.each do |job|
      @pool.post do
        job.call
        latch.count_down
      end
    end
    @calls.count { latch.wait }
  end
end
