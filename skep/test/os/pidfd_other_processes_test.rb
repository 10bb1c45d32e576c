# frozen_string_literal: true

require "test_helper"
require "etc"
require "socket"
require "skep/os"
require_relative "children"

# Processes that aren't children of this one, and children that other code reaps.
class PidfdOtherProcessesTest < Skep::TestCase
  include Children

  test "watches a process that isn't a child" do
    pidfd = Skep.pidfd(1)
    assert_predicate pidfd, :alive?
    assert_nil pidfd.wait(timeout: 0.01)
    assert_equal Skep::OS::Pidfd.native?, pidfd.watchable?
    assert_raises(Skep::OS::Unsupported) { pidfd.to_io } unless Skep::OS::Pidfd.native?
    pidfd.close
  end

  test "another user's process can be watched, and not signalled" do
    skip "it needs root, to change user" unless Process.uid.zero?
    pid, reader = in_child do |writer|
      Process::UID.change_privilege(65_534)
      pidfd = Skep.pidfd(1)
      pidfd.signal(:TERM)
    rescue Errno::EPERM
      writer.puts [pidfd.alive?, pidfd.wait(timeout: 0)].inspect
    end
    assert_equal "[true, nil]", wait_readable(reader).gets&.chomp
    Process.wait(pid)
  end

  test "wait returns a grandchild's status if the kernel shows it" do
    grandchild do |pid, release|
      pidfd = Skep.pidfd(pid)
      pidfd.signal(:KILL)
      release.call
      status = final_status(pidfd)
      assert_killed_or_unknown status
      assert_equal status, pidfd.wait
      pidfd.close
    end
  end

  test "wait returns an unknown status for a dead grandchild that isn't reaped" do
    grandchild do |pid, _release|
      pidfd = Skep.pidfd(pid)
      pidfd.signal(:KILL)
      status = pidfd.wait(timeout: 10)
      assert_equal [pid, nil, nil], [status.pid, status.exitstatus, status.termsig]
      assert_match(/#{pid}.*unknown/, status.to_s)
      assert_predicate status, :frozen?
      refute_predicate pidfd, :alive?
      assert_raises(Errno::ESRCH) { pidfd.signal(0) }
      pidfd.close
    end
  end

  test "failure returns how a grandchild has failed that isn't reaped" do
    grandchild do |pid, release|
      pidfd = Skep.pidfd(pid)
      assert_nil pidfd.failure
      pidfd.signal(:KILL).wait(timeout: 10)
      assert_equal [nil, 9], pidfd.failure
      release.call
      pidfd.close
    end
  end

  test "wait returns a dead grandchild's status even after the deadline" do
    grandchild do |pid, _release|
      first, second = Array.new(2) { Skep.pidfd(pid) }
      first.signal(:KILL).wait(timeout: 10)
      assert_equal pid, second.wait(timeout: -1).pid
      [first, second].each(&:close)
    end
  end

  test "wait returns beside a thread that waits for any child" do
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      rival = Thread.new { reaped }
      pidfd.signal(:KILL)
      status = pidfd.wait(timeout: 10)
      assert_equal 9, (rival.value || status).termsig
      assert_equal 9, status.termsig if shows_any_status?
      pidfd.close
    end
  end

  test "wait returns for each child beside a loop that reaps any child" do
    gate, release = IO.pipe
    pids = Array.new(20) { |n| fork { release.close || (gate.read && exit!(n)) } }
    pidfds = pids.map { |pid| Skep.pidfd(pid) }
    rival = Thread.new { Array.new(20) { reaped } }
    [gate, release].each(&:close)
    statuses = pidfds.map { |pidfd| pidfd.wait(timeout: 10) }
    taken = rival.value.compact.to_h { |status| [status.pid, status.exitstatus] }
    known = pids.zip(statuses).map { |pid, status| status.exitstatus || taken[pid] }
    assert_equal [*0..19], known, "one of the two has each: #{statuses.map(&:inspect)}, #{taken}"
    assert_equal [*0..19], statuses.map(&:exitstatus) if shows_any_status?
  ensure
    pidfds&.each(&:close)
  end

  test "wait returns for a detached child" do
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      waiter = Process.detach(pid)
      pidfd.signal(:KILL)
      status = pidfd.wait(timeout: 10)
      assert_equal 9, (waiter.value || status).termsig
      assert_equal 9, status.termsig if shows_any_status?
      refute_predicate pidfd, :alive?
      pidfd.close
    end
  end

  test "wait returns for a child that other code has reaped" do
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      pidfd.signal(:KILL)
      Process.wait(pid)
      refute_predicate pidfd, :alive?
      assert_killed_or_unknown pidfd.wait
      assert_raises(Errno::ESRCH) { pidfd.signal(:KILL) }
      pidfd.close
    end
  end

  test "another process signals and waits with a pidfd that it receives" do
    blocked_child do |pid|
      ours, theirs = UNIXSocket.pair
      pidfd = Skep.pidfd(pid)
      receiver, reader = in_child { |writer| writer.puts(end_of(theirs, pid)) }
      ours.send_io(pidfd.to_io)
      assert_equal 15, pidfd.wait(timeout: 10).termsig
      ours.write("reaped")
      assert_equal (shows_any_status? ? "15" : "none"), wait_readable(reader).gets.chomp
      Process.wait(receiver)
      [ours, theirs, pidfd].each(&:close)
    end
  end

  test "adopt owns the io, and close closes it" do
    ours, theirs = UNIXSocket.pair
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      ours.send_io(pidfd.to_io)
      adopted = Skep::OS::Pidfd.adopt(io = theirs.recv_io, pid)
      assert_predicate adopted, :alive?
      assert_predicate adopted, :watchable?
      assert_same io, adopted.to_io
      adopted.close
      assert_predicate io, :closed?
      pidfd.close
    end
  ensure
    [ours, theirs].each(&:close)
  end

  test "works in a forked child, which isn't the process' parent" do
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      assert_nil pidfd.wait(timeout: 0)
      child, reader = in_child do |writer|
        writer.puts [pidfd.wait(timeout: 0), pidfd.alive?].inspect
        pidfd.signal(:KILL)
      end
      assert_equal "[nil, true]", wait_readable(reader).gets.chomp
      assert_equal 9, pidfd.wait(timeout: 10).termsig
      Process.wait(child)
      pidfd.close
    end
  end

  private

  def assert_killed_or_unknown(status)
    return assert_equal(9, status.termsig) if shows_any_status?

    assert_instance_of Skep::OS::Pidfd::UnknownStatus, status
  end

  # The grandchild's parent may take longer to reap it than the first wait takes.
  def final_status(pidfd)
    by = deadline(10)
    status = pidfd.wait(timeout: 10)
    return status unless shows_any_status?

    status = pidfd.wait(timeout: 10) until status.termsig || seconds_until(by).zero?
    status
  end

  # Returns the status of any child; nil if none is left.
  def reaped
    Process.wait2(-1).last
  rescue Errno::ECHILD
    nil
  end

  # In a child: ends the process of the received pidfd, waits, and waits again once it is reaped.
  def end_of(socket, pid)
    pidfd = Skep::OS::Pidfd.adopt(socket.recv_io, pid)
    pidfd.signal(:TERM)
    pidfd.wait(timeout: 10)
    wait_readable(socket).readpartial(6)
    pidfd.wait.termsig || "none"
  end
end
