# frozen_string_literal: true

require "test_helper"
require "skep/os"

class ForkProbeTest < Skep::TestCase
  NOBODY = 65_534
  private_constant :NOBODY

  test "says yes, and leaves no child and no signal" do
    pid, reader = in_child do |writer|
      trap(:CHLD) { writer.write("SIGCHLD") }
      100.times { raise "no" unless Skep::OS::ProcessTree::ForkProbe.check }
      Process.wait
    rescue Errno::ECHILD
      writer.write("alone")
    end

    assert_equal "alone", wait_readable(reader).read
    Process.wait(pid)
  end

  test "raises at once where no process is to be had" do
    skip "it takes the C" unless Skep::OS.native?
    pid, reader = in_child do |writer|
      Process::UID.change_privilege(NOBODY) if Process.uid.zero?
      Process.setrlimit(:NPROC, 0)
      Skep::OS::ProcessTree::ForkProbe.check
      writer.write("another process was to be had")
    rescue Errno::EAGAIN => e
      writer.write(e.message)
    end

    assert_equal "Resource temporarily unavailable - fork(2)", wait_readable(reader).read
    Process.wait(pid)
  end
end
