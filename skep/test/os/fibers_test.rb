# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "children"

# Waits use the Fiber scheduler of their thread, if it has one.
class FibersTest < Skep::TestCase
  include Children

  # The smallest scheduler that Ruby accepts. It records the IOs, and waits without other fibers.
  class Scheduler
    attr_reader :waits

    def initialize
      @waits = []
    end

    def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)

    def io_wait(io, _events, timeout)
      @waits << io
      return unless Fiber.respond_to?(:blocking) # Ruby 3.1: as if the deadline had passed

      Fiber.blocking { IO.select([io], nil, nil, timeout) && IO::READABLE }
    end

    def block(_blocker, _timeout = nil) = true
    def unblock(_blocker, _fiber) = nil
    def kernel_sleep(_duration = nil) = nil
    def close = nil
  end

  # A working scheduler: it resumes the fibers that are ready until all have ended.
  class Loop < Scheduler
    def initialize
      super
      @waiting = {}
    end

    def io_wait(io, events, timeout)
      @waits << io
      @waiting[Fiber.current] = [io, events, timeout && (Skep::OS.now + timeout)]
      Fiber.yield
    end

    def close = (turn until @waiting.empty?)

    private

    def turn
      ios = @waiting.values.map(&:first)
      ready, = IO.select(ios, nil, nil, seconds_left)
      over = @waiting.select do |_, (io, _, by)|
        ready&.include?(io) || (by && by <= Skep::OS.now)
      end
      over.each do |fiber, (io, events)|
        @waiting.delete(fiber)
        fiber.resume(ready&.include?(io) ? events : false)
      end
    end

    def seconds_left
      first = @waiting.values.filter_map(&:last).min
      first && [first - Skep::OS.now, 0].max
    end
  end
  private_constant :Scheduler, :Loop

  test "pidfds and pollers wait through the scheduler" do
    skip "the fallback waits in a thread of its own" unless Skep::OS.native?
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      poller = Skep::OS::EventLoop::Poller.new.add(pidfd, :child)
      waits = scheduled(Scheduler.new, -> { [pidfd.wait(timeout: 0.01), poller.wait(0.01)] })
      assert_includes waits, pidfd.to_io
      assert_equal 2, waits.size
      [poller, pidfd].each(&:close)
    end
  end

  test "fibers wait for several children at a time" do
    gate, release = IO.pipe
    slow, late = [3, 4].map { |n| Skep.pidfd(fork { release.close || (gate.read && exit!(n)) }) }
    results = []
    scheduled(Loop.new,
              -> { results << slow.wait(timeout: 10).exitstatus },
              -> { results << late.wait(timeout: 0.01) << release.close },
              -> { results << late.wait(timeout: 10).exitstatus })
    assert_equal [nil, nil, 3, 4], results.sort_by(&:to_i)
    assert_equal [nil, nil], results.first(2)
  ensure
    [gate, release, slow, late].each(&:close)
  end

  private

  # Runs each block in a fiber of its own, and returns the IOs that they waited for.
  def scheduled(scheduler, *blocks)
    Thread.new do
      Fiber.set_scheduler(scheduler)
      blocks.each { |block| Fiber.schedule(&block) }
    end.join(20)
    scheduler.waits
  end
end
