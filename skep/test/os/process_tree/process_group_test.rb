# frozen_string_literal: true

require "test_helper"
require "skep/os"

class ProcessGroupTest < Skep::TestCase
  test "kill_others ends all others of the group that this process leads" do
    out, err, status = run_program(<<~RUBY) # it leads a group; EOF means that all have ended
      require "skep/os"
      Signal.trap("CHLD", "IGNORE")
      system("sleep infinity & sleep infinity &")
      print Skep::OS::ProcessTree::ProcessGroup.kill_others, Skep::OS::ProcessTree::ProcessGroup.kill_others
      exit 3
    RUBY
    assert_equal ["truetrue", "", 3], [out, err, status.exitstatus]
  end

  test "kill_others leaves no child" do
    out, = run_program(<<~RUBY)
      require "skep/os"
      Skep::OS::ProcessTree::ProcessGroup.kill_others
      print Process.waitall
    RUBY
    assert_equal "[]", out
  end

  test "kill_others ends all others at the limit of processes, too" do
    pid, reader = in_child do |writer|
      Process::UID.change_privilege(65_534) if Process.uid.zero?
      Process.setpgid(0, 0)
      gate, = IO.pipe
      other = fork { gate.read }
      Process.setrlimit(:NPROC, 0)
      killed = Skep::OS::ProcessTree::ProcessGroup.kill_others
      writer.print [killed, Process.wait2(other)[1].termsig]
    rescue SystemCallError => e
      writer.print e.message
      Process.kill(:KILL, other)
    end
    assert_equal "[true, 9]", wait_readable(reader).read
    Process.wait(pid)
  end

  test "kill_others returns false if another process leads the group" do
    pid, reader = in_child { |writer| writer.print Skep::OS::ProcessTree::ProcessGroup.kill_others }
    assert_equal "false", wait_readable(reader).read
    Process.wait(pid)
  end
end
