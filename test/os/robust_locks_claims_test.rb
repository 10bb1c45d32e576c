# frozen_string_literal: true

require "test_helper"
require "skep/os"
require_relative "holders"

# Who follows a lock's dead holder, and how it waits for that.
class RobustLocksClaimsTest < Skep::TestCase
  include Holders

  test "is claimed only if open, only after the death, and once" do
    pid, _, release = waiting_holder(0)
    @locks.open(0)
    assert_equal false, @locks.claim(0, 5)
    release.close
    Process.wait(pid)
    assert_equal [true, false, 5], [@locks.claim(0, 5), @locks.claim(0, 6), @locks.claimer(0)]
    assert_equal [5, nil, false], [@locks.close(0), @locks.close(0), @locks.claim(0, 6)]
    @locks.open(0)
    assert_equal [true, 7], [@locks.claim(0, 7), @locks.claimer(0)]
  end

  test "is claimed where nobody has held it yet" do
    assert_equal [nil, false], [@locks.await_death([2], 0), @locks.claim(2, 1)]
    @locks.open(2)
    assert_equal [2, true], [@locks.await_death([2], nil), @locks.claim(2, 1)]
  end

  test "wakes who waits when it is opened after the death" do
    pid, = holder(0) { exit! }
    Process.wait(pid)
    assert_nil @locks.await_death([0], 0)
    waiter, reader = in_child do |writer|
      writer.write("up")
      @locks.await_death([0], 20) or exit(1)
    end
    wait_readable(reader).readpartial(2)
    @locks.open(0)
    assert_predicate Process.wait2(waiter).last, :success?
  end

  test "tells a wait's end to who asked for it, from any thread and before the wait" do
    @locks.wake
    assert_nil @locks.await_death([0], nil)
    waiting = Thread.new { @locks.await_death([0], nil) }
    @locks.wake
    assert_nil waiting.value
  end

  test "waits without keeping others from their work, and can be ended" do
    thread = Thread.new { loop { @locks.await_death([0, 1], nil) } }
    assert_equal 42, Thread.new { 42 }.value
    assert thread.kill.join(10)
  end

  test "runs the trap of a signal that comes during the wait" do
    pid, reader = in_child do |writer|
      trap(:USR1) { exit!(9) }
      writer.write("up")
      loop { @locks.await_death([0], nil) }
    end
    wait_readable(reader).readpartial(2)
    Process.kill(:USR1, pid)
    assert_equal 9, Process.wait2(pid).last.exitstatus
  end

  test "is claimed once each, whoever wait and however many die at a time" do
    25.times do
      4.times { |cell| @locks.prepare(cell) || @locks.open(cell) }
      holders = Array.new(4) { |cell| holder(cell) { IO.select(nil) } }
      heirs = Array.new(4) { |number| in_child { |writer| writer.write(inherit(number)) } }
      holders.shuffle.each { |pid, _| Process.kill(:KILL, pid) && Process.wait(pid) }
      assert_equal [0, 1, 2, 3], heirs.map { |_, reader| wait_readable(reader).read.to_i }.sort
      heirs.each { |pid, _| Process.wait(pid) }
      assert_equal [0, 1, 2, 3], Array.new(4) { |cell| @locks.close(cell) }.sort
    end
  end

  private

  # The cell that it could claim.
  def inherit(number)
    loop do
      cell = @locks.await_death([0, 1, 2, 3], 20) or raise "nobody died"
      return cell.to_s if @locks.claim(cell, number) && @locks.hold(cell)
    end
  end
end
