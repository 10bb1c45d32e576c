# frozen_string_literal: true

require "test_helper"
require "pty"
require "skep/cli"
require "skep/cli/top"

class TopTerminalTest < Skep::TestCase
  def setup
    @screen, @tty = PTY.open
    @loop = Skep::OS::EventLoop.new
    @terminal = Skep::CLI::Top::Terminal.new(@tty, @tty, @loop)
  end

  def teardown
    @terminal.close
    @loop.close
    [@screen, @tty].each(&:close)
  end

  # As a shell does while the program is stopped by a STOP.
  test "enter takes the terminal over again from another mode, and leave restores the first one" do
    @tty.echo = true
    @terminal.enter
    @tty.cooked!
    refute_equal false, @tty.echo?
    @terminal.enter
    assert_equal false, @tty.echo?
    @terminal.leave
    assert_equal true, @tty.echo?
  end
end
