# frozen_string_literal: true

require "test_helper"
require "skep/swarm"

class ProcessSetupTest < Skep::TestCase
  # Prints the signals that a real supervisor process receives. A fork of it receives none.
  PROGRAM = <<~'RUBY'
    require "skep"
    supervisor = Struct.new(:loop) do
      def events = self
      def guard(_action) = yield
      def quiet = puts("quiet")
      def reopen = puts("reopen")
    end.new(Skep::OS::EventLoop.new)
    $stdout.sync = true
    setup = Skep::Swarm::Supervisor::ProcessSetup.new(
      supervisor, program: false, ours: -> { [] }, forked: -> { puts "forked" }
    )
    setup.take
    Process.kill(:TSTP, Process.pid)
    supervisor.loop.turn(5)
    Process.kill(:USR1, Process.pid)
    Process.kill(:USR1, Process.pid)
    supervisor.loop.turn(5)
    Process.wait(fork { setup.close_in_child })
    setup.release
    Process.kill(:TERM, Process.pid) # ignored from here on
    puts "ended"
  RUBY
  private_constant :PROGRAM

  test "signals reach the supervisor through its loop, a repeated one once" do
    out, err, status = run_program(PROGRAM)
    assert_equal ["", 0], [err, status.exitstatus]
    assert_equal %w[quiet reopen forked ended],
                 out.lines(chomp: true)
  end
end
