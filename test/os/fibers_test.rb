# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "children"

# Waits go through a Fiber scheduler where there is one.
class FibersTest < Skep::TestCase
  include Children

  # The least that Ruby takes for a scheduler: it notes who waits, and lets them wait the old way.
  class Scheduler
    attr_reader :waits

    def initialize
      @waits = []
    end

    def fiber(&block) = Fiber.new(blocking: false, &block).tap(&:resume)

    def io_wait(io, _events, timeout)
      @waits << io
      return unless Fiber.respond_to?(:blocking) # Ruby 3.1: it is as if the deadline were over

      Fiber.blocking { IO.select([io], nil, nil, timeout) && IO::READABLE }
    end

    def block(_blocker, _timeout = nil) = true
    def unblock(_blocker, _fiber) = nil
    def kernel_sleep(_duration = nil) = nil
    def close = nil
  end

  # One that works: it runs who is ready, until all have ended.
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
      ready, = IO.select(ios, nil, nil, patience)
      over = @waiting.select do |_, (io, _, by)|
        ready&.include?(io) || (by && by <= Skep::OS.now)
      end
      over.each do |fiber, (io, events)|
        @waiting.delete(fiber)
        fiber.resume(ready&.include?(io) ? events : false)
      end
    end

    def patience
      first = @waiting.values.filter_map(&:last).min
      first && [first - Skep::OS.now, 0].max
    end
  end
  private_constant :Scheduler, :Loop

  test "asks the scheduler to wait for a pidfd and for a poller" do
    skip "the fallback's waiter is a thread of its own" unless Skep::OS.native?
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      poller = Skep::OS::EventLoop::Poller.new.add(pidfd, :child)
      waits = scheduled(Scheduler.new, -> { [pidfd.wait(timeout: 0.01), poller.wait(0.01)] })
      assert_includes waits, pidfd.to_io
      assert_equal 2, waits.size
      [poller, pidfd].each(&:close)
    end
  end

  test "lets fibers wait for several children at a time" do
    gate, release = IO.pipe
    slow, late = [3, 4].map { |n| Skep.pidfd(fork { release.close || (gate.read && exit!(n)) }) }
    said = []
    scheduled(Loop.new,
              -> { said << slow.wait(timeout: 10).exitstatus },
              -> { said << late.wait(timeout: 0.01) << release.close },
              -> { said << late.wait(timeout: 10).exitstatus })
    assert_equal [nil, nil, 3, 4], said.sort_by(&:to_i)
    assert_equal [nil, nil], said.first(2)
  ensure
    [gate, release, slow, late].each(&:close)
  end

  private

  # What was waited for while each of the works ran in a fiber of its own.
  def scheduled(scheduler, *works)
    Thread.new do
      Fiber.set_scheduler(scheduler)
      works.each { |work| Fiber.schedule(&work) }
    end.join(20)
    scheduler.waits
  end
end
