# frozen_string_literal: true

require "test_helper"
require "skep/os"

class PrctlTest < Skep::TestCase
  Prctl = Skep::OS::ProcessTree::Prctl
  private_constant :Prctl

  test "is supported by the C extension only" do
    assert_equal Skep::OS.native?, Prctl.supported?
  end

  test "the fallback changes nothing, and returns false" do
    skip "the C extension supports it" if Prctl.supported?
    assert_equal [false, false], [Prctl.subreaper!, Prctl.subreaper?]
    assert_nil Prctl.parent_death_signal
    refute Prctl.public_send(:parent_death_signal=, :TERM)
  end

  test "a subreaper becomes the parent of orphaned descendants" do
    skip "it needs the C extension" unless Prctl.supported?
    pid, reader = in_child do |writer|
      Prctl.subreaper!
      parent = fork { fork { exit!(9) } && exit!(8) }
      writer.puts Prctl.subreaper?, Process.wait2(parent).last.exitstatus
      writer.puts Process.wait2.last.exitstatus
    end
    assert_equal "true\n8\n9\n", wait_readable(reader).read
    Process.wait(pid)
  end

  test "a forked child inherits no attribute" do
    skip "it needs the C extension" unless Prctl.supported?
    pid, reader = in_child do |writer|
      Prctl.subreaper!
      Prctl.parent_death_signal = :TERM
      Process.wait(fork do
        writer.puts [Prctl.subreaper?, Prctl.parent_death_signal].inspect
        exit!
      end)
    end
    assert_equal "[false, nil]\n", wait_readable(reader).read
    Process.wait(pid)
  end

  test "parent_death_signal ends an orphan" do
    skip "it needs the C extension" unless Prctl.supported?
    pid, reader = in_child do |writer|
      r, w = IO.pipe
      orphan = fork { Prctl.parent_death_signal = "KILL" and w.write(".") and IO.select(nil) }
      r.getc
      writer.puts orphan
    end
    Process.wait(pid)
    assert_match(/\A\d+\n\z/, wait_readable(reader).read, "the orphan still has the pipe open")
  end

  test "parent_death_signal accepts a number, a name and nil" do
    pid, reader = in_child do |writer|
      [15, :USR1, "SIGKILL", nil].each do |signal|
        Prctl.parent_death_signal = signal
        writer.puts Prctl.parent_death_signal.inspect
      end
    end
    expected = Prctl.supported? ? ["15", Signal.list["USR1"].to_s, "9", "nil"] : ["nil"] * 4
    assert_equal expected, wait_readable(reader).read.split
    Process.wait(pid)
  end
end
