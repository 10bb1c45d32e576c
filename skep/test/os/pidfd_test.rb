# frozen_string_literal: true

require "test_helper"
require "etc"
require "skep/os"
require_relative "children"

class PidfdTest < Skep::TestCase
  include Children

  test "has its pid, and is alive while the process runs" do
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      assert_equal pid, pidfd.pid
      assert_predicate pidfd, :alive?
      assert_equal "#<Skep::OS::Pidfd pid=#{pid} open>", pidfd.inspect
      pidfd.close
    end
  end

  test "Skep.pidfd raises for a process that doesn't exist" do
    pid = fork { exit! }
    Process.wait(pid)
    assert_raises(Errno::ESRCH) { Skep.pidfd(pid) }
    assert_raises(ArgumentError) { Skep.pidfd(0) }
    assert_raises(ArgumentError) { Skep.pidfd(-1) }
  end

  test "wait returns the exit status of a child" do
    status = with_pidfd(fork { exit!(3) }) { |pidfd| pidfd.wait(timeout: 10) }
    assert_instance_of Process::Status, status
    assert_equal 3, status.exitstatus
    refute_predicate status, :signaled?
  end

  test "wait returns the signal that ended a child" do
    blocked_child do |pid|
      status = with_pidfd(pid) { |pidfd| pidfd.signal(:TERM).wait(timeout: 10) }
      assert_equal Signal.list["TERM"], status.termsig
      assert_equal pid, status.pid
    end
  end

  test "wait returns nil at the deadline, and can be repeated" do
    blocked_child do |pid|
      with_pidfd(pid) do |pidfd|
        assert_nil pidfd.wait(timeout: 0)
        assert_takes(0.05, most: 0.5) { assert_nil pidfd.wait(timeout: 0.05) }
        assert_nil pidfd.wait(timeout: -1)
        assert_equal 9, pidfd.signal(:KILL).wait.termsig
      end
    end
  end

  test "wait returns the same status again" do
    with_pidfd(fork { exit!(7) }) do |pidfd|
      first = pidfd.wait(timeout: 10)
      assert_same first, pidfd.wait(timeout: 0)
      assert_same first, pidfd.wait
    end
  end

  test "signal accepts a number, a name and a symbol" do
    [15, "TERM", "SIGTERM", :TERM, :SIGTERM].each do |signal|
      blocked_child do |pid|
        with_pidfd(pid) { |pidfd| assert_equal 15, pidfd.signal(signal).wait(timeout: 10).termsig }
      end
    end
  end

  test "signal raises for a signal that doesn't exist" do
    blocked_child do |pid|
      with_pidfd(pid) do |pidfd|
        assert_match(/TREM/, assert_raises(ArgumentError) { pidfd.signal(:TREM) }.message)
        assert_raises(Errno::EINVAL) { pidfd.signal(4242) }
        assert_same pidfd, pidfd.signal(0)
      end
    end
  end

  test "signal raises ESRCH for a dead process, reaped or not" do
    blocked_child do |pid|
      with_pidfd(pid) do |pidfd|
        pidfd.signal(:KILL)
        assert IO.select([pidfd], nil, nil, 10)
        refute_predicate pidfd, :alive?
        assert_raises(Errno::ESRCH) { pidfd.signal(0) }
        assert_equal 9, pidfd.wait(timeout: 10).termsig
        assert_raises(Errno::ESRCH) { pidfd.signal(0) }
        assert_raises(Errno::ESRCH) { pidfd.signal(:TERM, group: true) }
      end
    end
  end

  test "signals a whole process group" do
    pid, reader = in_child do |writer|
      trap(:TERM, "SYSTEM_DEFAULT")
      Process.setpgrp
      fork { IO.select(nil) }
      writer.write(".")
      IO.select(nil)
    end
    wait_readable(reader).getc
    status = with_pidfd(pid) { |pidfd| pidfd.signal(:TERM, group: true).wait(timeout: 10) }
    assert_equal 15, status.termsig
    assert_nil wait_readable(reader).getc, "the grandchild still has the pipe open"
  end

  test "kill_leftover_group ends what an exited child has left in its group" do
    reader, writer = IO.pipe
    pid = Process.spawn("sleep infinity & exit 7", pgroup: true, out: writer)
    writer.close
    with_pidfd(pid) do |pidfd|
      assert IO.select([pidfd], nil, nil, 10)
      pidfd.kill_leftover_group
      assert_nil wait_readable(reader).getc, "it still runs"
      assert_equal 7, pidfd.wait(timeout: 10).exitstatus
    end
  ensure
    reader.close
  end

  test "kill_leftover_group leaves a group alone whose leader runs" do
    blocked_child do |pid|
      with_pidfd(pid) do |pidfd|
        pidfd.kill_leftover_group
        assert_predicate pidfd, :alive?
      end
    end
  end

  test "is readable once its child has ended" do
    blocked_child do |pid|
      with_pidfd(pid) do |pidfd|
        assert_predicate pidfd, :watchable?
        assert_nil IO.select([pidfd], nil, nil, 0)
        pidfd.signal(:KILL)
        assert IO.select([pidfd], nil, nil, 10)
        assert_same pidfd.to_io, pidfd.to_io
        assert_predicate pidfd.to_io, :close_on_exec?
      end
    end
  end

  test "reaps no other child" do
    other = fork { exit!(5) }
    with_pidfd(fork { exit!(6) }) { |pidfd| assert_equal 6, pidfd.wait(timeout: 10).exitstatus }
    assert_equal 5, Process.wait2(other).last.exitstatus
  end

  test "close may be called twice" do
    pidfd = Skep.pidfd(Process.pid)
    refute_predicate pidfd, :closed?
    2.times { assert_nil pidfd.close }
    assert_predicate pidfd, :closed?
    assert_match(/closed/, pidfd.inspect)
  end

  test "other methods raise Closed after close" do
    pidfd = Skep.pidfd(Process.pid)
    pidfd.close
    uses = [-> { pidfd.alive? }, -> { pidfd.signal(0) }, -> { pidfd.wait(timeout: 0) },
            -> { pidfd.to_io }, -> { pidfd.watchable? }]
    uses.each { |use| assert_match(/#{Process.pid}/, assert_raises(Skep::OS::Pidfd::Closed, &use).message) }
    assert_kind_of Skep::Error, assert_raises(Skep::OS::Pidfd::Closed) { pidfd.wait }
  end

  private

  def with_pidfd(pid)
    pidfd = Skep.pidfd(pid)
    yield pidfd
  ensure
    pidfd&.close
  end
end
