# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "children"

# What interrupts Pidfd#wait, and what doesn't.
class PidfdInterruptsTest < Skep::TestCase
  include Children

  Urgent = Class.new(StandardError)
  private_constant :Urgent

  test "other threads run during a wait" do
    waiting do |pidfd, thread|
      assert_equal 42, Thread.new { 42 }.value
      assert_predicate thread, :alive?
      pidfd.signal(:KILL)
      assert_equal 9, thread.value.termsig
    end
  end

  test "Thread#raise interrupts a wait, which can be repeated" do
    waiting do |pidfd, thread|
      thread.raise(Urgent)
      assert_raises(Urgent) { thread.join(10) }
      assert_equal 9, pidfd.signal(:KILL).wait(timeout: 10).termsig
    end
  end

  test "Thread#kill interrupts a wait" do
    waiting do |pidfd, thread|
      thread.kill
      assert thread.join(10)
      assert_predicate pidfd, :alive?
    end
  end

  test "close interrupts a wait in another thread" do
    waiting do |pidfd, thread|
      pidfd.close
      assert_raises(Skep::OS::Pidfd::Closed) { thread.join(10) }
    end
  end

  test "wait returns a dead child's status although signals arrive all the time" do
    under_signals { 30.times { assert_status_at_once(3) } }
  end

  test "wait continues after a signal that a trap handles" do
    r, w = IO.pipe
    previous = trap(:USR1) { w.write_nonblock(".") }
    waiting do |pidfd, thread|
      Process.kill(:USR1, Process.pid)
      assert_equal ".", wait_readable(r).getc
      assert_nil thread.join(0)
      assert_equal 9, pidfd.signal(:KILL).wait(timeout: 10).termsig
      assert_equal 9, thread.value.termsig
    end
  ensure
    trap(:USR1, previous || "DEFAULT")
    [r, w].each(&:close)
  end

  private

  def assert_status_at_once(code)
    pidfd = Skep.pidfd(fork { exit!(code) })
    wait_readable(pidfd.to_io)
    assert_equal code, pidfd.wait(timeout: 0)&.exitstatus
  ensure
    pidfd.close
  end

  # Yields a thread in a wait. Exceptions from other threads reach it only once it blocks.
  def waiting
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      yield pidfd, waiter(pidfd)
    ensure
      pidfd.close
    end
  end

  def waiter(pidfd)
    begins = Queue.new
    thread = Thread.new do
      Thread.current.report_on_exception = false
      Thread.handle_interrupt(Object => :on_blocking) { begins.push(true) && pidfd.wait }
    end
    thread.tap { begins.pop }
  end
end
