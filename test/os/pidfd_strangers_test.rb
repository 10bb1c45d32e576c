# frozen_string_literal: true

require "test_helper"
require "etc"
require "socket"
require "skep/os"
require_relative "children"

# Processes that aren't our children, and those that others reap.
class PidfdStrangersTest < Skep::TestCase
  include Children

  test "watches a stranger that outlives us" do
    pidfd = Skep.pidfd(1)
    assert_predicate pidfd, :alive?
    assert_nil pidfd.wait(timeout: 0.01)
    assert_equal Skep::OS::Pidfd.native?, pidfd.watchable?
    assert_raises(Skep::OS::Unsupported) { pidfd.to_io } unless Skep::OS::Pidfd.native?
    pidfd.close
  end

  test "may look at somebody else's process, and not signal it" do
    skip "it takes root, to be somebody else" unless Process.uid.zero?
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

  test "tells a grandchild's status where the kernel does" do
    grandchild do |pid, release|
      pidfd = Skep.pidfd(pid)
      pidfd.signal(:KILL)
      release.call
      status = told_of(pidfd)
      assert_killed_or_unknown status
      assert_equal status, pidfd.wait
      pidfd.close
    end
  end

  test "knows a grandchild dead that nobody reaps" do
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

  test "looks at a dead grandchild though the deadline is over" do
    grandchild do |pid, _release|
      first, second = Array.new(2) { Skep.pidfd(pid) }
      first.signal(:KILL).wait(timeout: 10)
      assert_equal pid, second.wait(timeout: -1).pid
      [first, second].each(&:close)
    end
  end

  test "gets along with a thread that waits for any child" do
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      thief = Thread.new { reaped }
      pidfd.signal(:KILL)
      status = pidfd.wait(timeout: 10)
      assert_equal 9, (thief.value || status).termsig
      assert_equal 9, status.termsig if tells_strangers?
      pidfd.close
    end
  end

  test "knows each child dead beside a loop that reaps whatever ends" do
    gate, release = IO.pipe
    pids = Array.new(20) { |n| fork { release.close || (gate.read && exit!(n)) } }
    pidfds = pids.map { |pid| Skep.pidfd(pid) }
    rival = Thread.new { Array.new(20) { reaped } }
    [gate, release].each(&:close)
    told = pidfds.map { |pidfd| pidfd.wait(timeout: 10) }
    taken = rival.value.compact.to_h { |status| [status.pid, status.exitstatus] }
    known = pids.zip(told).map { |pid, status| status.exitstatus || taken[pid] }
    assert_equal [*0..19], known, "one of the two had each: #{told.map(&:inspect)}, #{taken}"
    assert_equal [*0..19], told.map(&:exitstatus) if tells_strangers?
  ensure
    pidfds&.each(&:close)
  end

  test "knows a child dead that is detached" do
    blocked_child do |pid|
      pidfd = Skep.pidfd(pid)
      keeper = Process.detach(pid)
      pidfd.signal(:KILL)
      status = pidfd.wait(timeout: 10)
      assert_equal 9, (keeper.value || status).termsig
      assert_equal 9, status.termsig if tells_strangers?
      refute_predicate pidfd, :alive?
      pidfd.close
    end
  end

  test "knows a child dead that somebody else has reaped" do
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

  test "is handed to another process, which signals and waits with it" do
    blocked_child do |pid|
      ours, theirs = UNIXSocket.pair
      pidfd = Skep.pidfd(pid)
      keeper, reader = in_child { |writer| writer.puts(end_of(theirs, pid)) }
      ours.send_io(pidfd.to_io)
      assert_equal 15, pidfd.wait(timeout: 10).termsig
      ours.write("reaped")
      assert_equal (tells_strangers? ? "15" : "none"), wait_readable(reader).gets.chomp
      Process.wait(keeper)
      [ours, theirs, pidfd].each(&:close)
    end
  end

  test "owns the io that it adopts" do
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

  test "is of use in a forked child, to which the process is a stranger" do
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
    return assert_equal(9, status.termsig) if tells_strangers?

    assert_instance_of Skep::OS::Pidfd::UnknownStatus, status
  end

  # Its parent may take longer to reap it than a wait lets it.
  def told_of(pidfd)
    by = deadline(10)
    status = pidfd.wait(timeout: 10)
    return status unless tells_strangers?

    status = pidfd.wait(timeout: 10) until status.termsig || seconds_until(by).zero?
    status
  end

  # What a rival that waits for any child gets.
  def reaped
    Process.wait2(-1).last
  rescue Errno::ECHILD
    nil
  end

  # In a child: ends the process of the pidfd received, waits, and looks again once it is reaped.
  def end_of(socket, pid)
    pidfd = Skep::OS::Pidfd.adopt(socket.recv_io, pid)
    pidfd.signal(:TERM)
    pidfd.wait(timeout: 10)
    wait_readable(socket).readpartial(6)
    pidfd.wait.termsig || "none"
  end
end
