# frozen_string_literal: true

require "test_helper"
require "skep/threads"

# A pool whose callers are fibers of a scheduler.
class PoolSchedulerTest < Skep::TestCase
  Pool = Skep::Threads::Pool
  private_constant :Pool

  # A Fiber scheduler that can only wait for other threads. It keeps a reference to each fiber that
  # waits: Ruby collects a fiber without one.
  class Scheduler
    def initialize
      @awake = Thread::Queue.new
      @asleep = {}
    end

    def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)

    def block(_blocker, _timeout = nil)
      @asleep[Fiber.current] = true
      Fiber.yield
      @asleep.delete(Fiber.current)
    end

    # Called by other threads.
    def unblock(_blocker, fiber) = @awake << fiber

    # Called at the thread's end: resumes the fibers that still wait.
    def close
      @awake.pop.resume while @asleep.any?
    end

    def io_wait(*) = raise(NotImplementedError)
    def kernel_sleep(*) = raise(NotImplementedError)
  end
  private_constant :Scheduler

  def setup
    super
    @pool = Pool.new(2)
  end

  def teardown
    @pool.close(timeout: 5)
    super
  end

  test "other fibers run while one waits, and its thread does no job" do
    gate, order, workers = Array.new(3) { Thread::Queue.new }
    in_fibers do |own|
      Fiber.schedule { order << @pool.run([1, 2]) { gate.pop && workers << Thread.current }.size }
      Fiber.schedule { order << :other && 2.times { gate << own } }
    end
    assert_equal [:other, 2], [order.pop, order.pop]
    assert_equal ["skep.pool"] * 2, Array.new(2) { workers.pop.name[/\Askep.pool/] }
  end

  test "gives each fiber its own results and errors" do
    all = Thread::Queue.new
    in_fibers do
      5.times { |n| Fiber.schedule { all << @pool.run([n, n]) { |item| item + 1 } } }
      Fiber.schedule { all << failed { @pool.run([1, 2]) { raise IOError } } }
    end
    assert_equal [[1, 1], [2, 2], [2, 2], [3, 3], [4, 4], [5, 5]], Array.new(6) { all.pop }.sort
  end

  private

  def failed
    yield
  rescue Pool::JobsFailed => error
    [error.failures.size] * 2
  end

  def in_fibers
    thread = Thread.new do
      Fiber.set_scheduler(Scheduler.new)
      yield Thread.current
    end
    assert thread.join(10), "the fibers never ended"
  end
end
