# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class OrphanReaperTest < Skep::TestCase
  # In a program that became a supervisor, the reaper touches only members of a node's group.
  test "reaps what a long-lived node leaves behind, even after twenty thousand other leaders" do
    out, = run_program(<<~'RUBY')
      require "skep/swarm"
      Skep::OS::ProcessTree::Prctl.subreaper!
      reader, writer = IO.pipe
      node = fork { Process.setpgid(0, 0); writer.write("n"); IO.select(nil) }
      reader.getc
      reaper = Skep::Swarm::Supervisor::OrphanReaper.new(program: true, ours: -> { [node] })
      reaper.leader(node)
      (1..20_000).each { |number| reaper.leader(10_000_000 + number) }
      left = fork { Process.setpgid(0, node); writer.write("l"); exit!(0) }
      reader.getc
      Skep.pidfd(left).to_io.wait_readable(10)
      reaper.reap
      begin
        Process.wait(left, Process::WNOHANG)
        puts "left"
      rescue Errno::ECHILD
        puts "reaped"
      end
      Process.kill(:KILL, node)
      Process.wait(node)
    RUBY
    assert_equal "reaped\n", out
  end
end
