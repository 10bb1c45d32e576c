# frozen_string_literal: true

require "test_helper"
require "skep/os"

class ForkProbeTest < Skep::TestCase
  NOBODY = 65_534
  private_constant :NOBODY

  test "check returns true, and leaves no child and no SIGCHLD" do
    pid, reader = in_child do |writer|
      trap(:CHLD) { writer.write("SIGCHLD") }
      100.times { raise "it returned false" unless Skep::OS::ProcessTree::ForkProbe.check }
      Process.wait
    rescue Errno::ECHILD
      writer.write("alone")
    end

    assert_equal "alone", wait_readable(reader).read
    Process.wait(pid)
  end

  test "check raises EAGAIN at once if the process limit is reached" do
    skip "it needs the C extension" unless Skep::OS.native?
    pid, reader = in_child do |writer|
      Process::UID.change_privilege(NOBODY) if Process.uid.zero?
      Process.setrlimit(:NPROC, 0)
      Skep::OS::ProcessTree::ForkProbe.check
      writer.write("check returned")
    rescue Errno::EAGAIN => e
      writer.write(e.message)
    end

    assert_equal "Resource temporarily unavailable - fork(2)", wait_readable(reader).read
    Process.wait(pid)
  end
end
