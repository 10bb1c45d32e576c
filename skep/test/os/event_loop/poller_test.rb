# frozen_string_literal: true

require "test_helper"
require "socket"
require "skep/os"

class PollerTest < Skep::TestCase
  def setup
    @poller = Skep::OS::EventLoop::Poller.new
    @r, @w = IO.pipe
  end

  def teardown
    [@poller, @r, @w].each(&:close)
  end

  test "wait returns the token of each IO that is ready" do
    @poller.add(@r, :reader).add(@w, :writer, read: false, write: true)
    assert_equal [[:writer, false, true]], @poller.wait(1)
    @w.write(".")
    assert_equal [[:reader, true, false], [:writer, false, true]], @poller.wait(1).sort
  end

  test "wait returns no token at the deadline" do
    @poller.add(@r, :reader)
    assert_takes(0.05, most: 0.5) { assert_equal [], @poller.wait(0.05) }
    assert_equal [], @poller.wait(0)
    assert_equal [], @poller.wait(-1)
  end

  # Without a timeout, constant signals may keep the fallback from checking the IO (ReadyNow).
  test "wait returns a ready IO although signals arrive all the time" do
    @w.write(".")
    @poller.add(@r, :reader)
    seconds = Skep::OS.native? ? 0 : 1
    under_signals { 20_000.times { assert_equal [[:reader, true, false]], @poller.wait(seconds) } }
  end

  test "reports an IO that is readable and writable as both" do
    left, right = UNIXSocket.pair
    @poller.add(left, :left, write: true)
    right.write(".")
    assert_equal [[:left, true, true]], @poller.wait(1)
    @poller.remove(left)
    [left, right].each(&:close)
  end

  test "modify changes the token and what the IO is watched for" do
    @w.write(".")
    @poller.add(@r, :old)
    @poller.modify(@r, :new, read: true, write: false)
    assert_equal [[:new, true, false]], @poller.wait(1)
    @poller.modify(@r, :none, read: false, write: false)
    assert_equal [], @poller.wait(0)
    @poller.modify(@r, :again, read: true, write: false)
    assert_equal [[:again, true, false]], @poller.wait(1)
  end

  test "doesn't report an IO that is watched for nothing, even after a hangup" do
    @poller.add(@r, :reader, read: false)
    @w.close
    assert_equal [], @poller.wait(0)
  end

  test "reports a hangup as readable" do
    @poller.add(@r, :reader)
    @w.close
    assert_equal [[:reader, true, false]], @poller.wait(1)
  end

  test "reports a pipe without a reader as writable" do
    @poller.add(@w, :writer, read: false, write: true)
    @r.close
    assert_equal [[:writer, false, true]], @poller.wait(1)
  end

  test "doesn't report a removed IO until it is added again" do
    @w.write(".")
    @poller.add(@r, :reader).remove(@r).remove(@r)
    assert_equal [], @poller.wait(0)
    assert_equal 0, @poller.size
    assert_equal [[:again, true, false]], @poller.add(@r, :again).wait(1)
  end

  test "add raises for an IO that it has, modify for one that it hasn't" do
    @poller.add(@r, :reader)
    assert_raises(ArgumentError) { @poller.add(@r, :other) }
    assert_raises(ArgumentError) { @poller.modify(@w, :other, read: true, write: false) }
    assert_equal 1, @poller.size
  end

  test "watches an object with to_io, such as a pidfd" do
    pidfd = Skep.pidfd(pid = fork { exit!(0) })
    @poller.add(pidfd, :child)
    assert_equal [[:child, true, false]], @poller.wait(10)
    @poller.remove(pidfd)
    assert_predicate pidfd.wait, :success?
    assert_equal pid, pidfd.pid
    pidfd.close
  end

  test "drops an IO that was closed before its removal and that a child keeps open" do
    gate, release = IO.pipe
    pid = fork { release.close || (gate.read && exit!) }
    @poller.add(@r, :gone)
    @w.write(".")
    @r.close
    assert_equal [], @poller.wait(0)
    assert_equal 0, @poller.size
    assert_equal [], @poller.wait(0.01), "the closed IO is reported again"
    release.close
    Process.wait(pid)
    gate.close
  end

  test "a forked child's changes don't affect its parent" do
    @poller.add(@r, :reader)
    pid, = in_child do
      @poller.remove(@r)
      @poller.add(@w, :writer, read: false, write: true)
      exit!(@poller.wait(1) == [[:writer, false, true]] ? 0 : 1)
    end
    assert_predicate Process.wait2(pid).last, :success?
    @w.write(".")
    assert_equal [[:reader, true, false]], @poller.wait(1)
  end

  test "reports each of 150 ready IOs in one of several waits" do
    pipes = Array.new(150) { IO.pipe }
    pipes.each_with_index { |(r, w), n| @poller.add(r, n) && w.write(".") }
    reported = []
    reported |= @poller.wait(1).map(&:first) until reported.size == 150
    assert_equal (0...150).to_a, reported.sort
    pipes.each { |r, _w| @poller.remove(r) }
    pipes.flatten.each(&:close)
  end

  test "other threads run during a wait, and can interrupt it" do
    @poller.add(@r, :reader)
    begins = Queue.new
    thread = Thread.new do
      Thread.handle_interrupt(Object => :on_blocking) { begins.push(true) && @poller.wait }
    end
    begins.pop
    thread.kill
    assert thread.join(10)
  end

  test "close may be called twice, and other methods raise IOError afterwards" do
    @poller.add(@r, :reader)
    2.times { assert_nil @poller.close }
    assert_predicate @poller, :closed?
    assert_raises(IOError) { @poller.wait(0) }
    assert_raises(IOError) { @poller.add(@r, :reader) }
    assert_equal "#<Skep::OS::EventLoop::Poller closed>", @poller.inspect
  end
end
