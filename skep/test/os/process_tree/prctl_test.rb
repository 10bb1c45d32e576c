# frozen_string_literal: true

require "test_helper"
require "skep/os"

class PrctlTest < Skep::TestCase
  Prctl = Skep::OS::ProcessTree::Prctl
  private_constant :Prctl

  test "the fallback changes nothing, and returns false" do
    skip "the C extension does it" if Skep::OS.native?
    assert_equal false, Prctl.subreaper!
    refute Prctl.public_send(:parent_death_signal=, :TERM)
  end

  test "a subreaper becomes the parent of orphaned descendants" do
    skip "it needs the C extension" unless Skep::OS.native?
    pid, reader = in_child do |writer|
      Prctl.subreaper!
      parent = fork { fork { exit!(9) } && exit!(8) }
      writer.puts Process.wait2(parent).last.exitstatus
      writer.puts Process.wait2.last.exitstatus
    end
    assert_equal "8\n9\n", wait_readable(reader).read
    Process.wait(pid)
  end

  test "parent_death_signal ends an orphan, by number or name; nil lets it live" do
    skip "it needs the C extension" unless Skep::OS.native?
    [9, :KILL, "SIGKILL"].each { |signal| assert_equal "", orphan_says(signal) }
    assert_equal "alive", orphan_says(:KILL, nil)
  end

  private

  # Returns what an orphan says after its parent has ended, which sets these signals in turn.
  def orphan_says(*signals)
    pid, reader = in_child do |writer|
      ready, set = IO.pipe
      fork do
        signals.each { |signal| Prctl.parent_death_signal = signal }
        parent = Skep.pidfd(Process.ppid)
        set.write(".")
        parent.wait(timeout: 10)
        writer.write("alive")
      end
      ready.getc
    end
    Process.wait(pid)
    wait_readable(reader).read
  end
end
