# frozen_string_literal: true

require "test_helper"
require "skep/os"

class ProcessGroupTest < Skep::TestCase
  test "ends all others of the group that we lead, and not us" do
    skip "it takes the C" unless Skep::OS.native?
    out, err, status = run_program(<<~RUBY) # it leads one; its output's end is the end of all
      require "skep/os"
      Signal.trap("CHLD", "IGNORE")
      system("sleep infinity & sleep infinity &")
      print Skep::OS::ProcessTree::ProcessGroup.kill_others, Skep::OS::ProcessTree::ProcessGroup.kill_others
      exit 3
    RUBY
    assert_equal ["truetrue", "", 3], [out, err, status.exitstatus]
  end

  test "leaves no process of its own behind" do
    skip "it takes the C" unless Skep::OS.native?
    out, = run_program(<<~RUBY)
      require "skep/os"
      Skep::OS::ProcessTree::ProcessGroup.kill_others
      print Process.waitall
    RUBY
    assert_equal "[]", out
  end

  test "does nothing to a group that another leads" do
    pid, reader = in_child { |writer| writer.print Skep::OS::ProcessTree::ProcessGroup.kill_others }
    assert_equal "false", wait_readable(reader).read
    Process.wait(pid)
  end
end
