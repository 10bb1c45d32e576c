# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class OrphanReaperTest < Skep::TestCase
  # As a setuid program that a node has left behind, under a supervisor that isn't root.
  test "an orphan that belongs to another user is left, and the others are reaped" do
    skip "only root can have processes of two users" unless Process.uid.zero?

    out, err, = run_program(<<~'RUBY')
      require "skep/swarm"
      reader, writer = IO.pipe
      foreign = fork { [writer.close, reader.read] }
      Process::UID.change_privilege(65_534)
      own = fork { [writer.close, reader.read] }
      reaper = Skep::Swarm::Supervisor::OrphanReaper.new(program: false, ours: -> { [] })
      began = Skep::OS.now
      puts "left the other user's" if reaper.reap_all == [foreign]
      begin
        Process.wait(own)
      rescue Errno::ECHILD
        puts "reaped its own"
      end
      puts "waited" if Skep::OS.now - began > 4
    RUBY
    assert_equal ["left the other user's\nreaped its own\n", ""], [out, err]
  end

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
