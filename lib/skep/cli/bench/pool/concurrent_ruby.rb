# frozen_string_literal: true

require "concurrent"

# concurrent-ruby's pool, and its latch to wait for a batch.
class ConcurrentRuby
  #: (Integer threads, Calls calls) -> void
  def initialize(threads, calls)
    @calls = calls
    @pool = Concurrent::FixedThreadPool.new(threads)
  end

  #: (Array[Proc] jobs) -> void
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
