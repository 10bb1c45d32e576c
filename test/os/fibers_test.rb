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
  private_constant :Scheduler

  test "asks the scheduler to wait for a pidfd and for a poller" do
    skip "the twin's waiter is a thread of its own" unless Skep::OS.native?
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      poller = Skep::OS::Poller.new.add(pidfd, :child)
      waits = scheduled { [pidfd.wait(timeout: 0.01), poller.wait(0.01)] }
      assert_includes waits, pidfd.to_io
      assert_equal 2, waits.size
      [poller, pidfd].each(&:close)
    end
  end

  private

  def scheduled(&work)
    scheduler = Scheduler.new
    Thread.new do
      Fiber.set_scheduler(scheduler)
      Fiber.schedule(&work)
    end.join(10)
    scheduler.waits
  end
end
