# frozen_string_literal: true

require "open3"
require "socket"
require "test_helper"
require "skep/swarm"

class SocketActivationTest < Skep::TestCase
  SocketActivation = Skep::Swarm::Runtime::SocketActivation
  private_constant :SocketActivation
  GIVEN = { "LISTEN_FDS" => "2", "LISTEN_FDNAMES" => "http:admin" }.freeze

  test "takes those that came for this process out of its environment" do
    program = <<~'RUBY'
      require "skep/swarm"
      sockets = Skep::Swarm::Runtime::SocketActivation
      ENV["LISTEN_PID"] = Process.pid.to_s
      sockets.take
      left = ENV.keys.grep(/\ALISTEN/)
      puts sockets.redirects.keys.inspect, left.inspect, sockets.ios.map(&:close_on_exec?).inspect
      sockets.announce
      puts ENV.values_at("LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID") == ["2", "http:admin", Process.pid.to_s]
    RUBY
    out, = run_with_two(program)

    assert_equal "[3, 4]\n[]\n[true, true]\ntrue\n", out
  end

  test "leaves alone what came for another process, and forgets what another swarm had" do
    env = { **GIVEN, "LISTEN_PID" => "1", "SKEP_LISTEN_FDS" => "3", "SKEP_LISTEN_FDNAMES" => "a" }
    SocketActivation.take(env)

    assert_equal({ **GIVEN, "LISTEN_PID" => "1" }, env.compact)
    assert_equal 0, SocketActivation.count(env)
  end

  test "gives a node its own" do
    env = { "SKEP_LISTEN_FDS" => "1", "LISTEN_PID" => "1" }
    SocketActivation.announce(env)

    assert_equal Process.pid.to_s, env["LISTEN_PID"]
  end

  test "says nothing where there are none" do
    env = {}
    SocketActivation.announce(env)

    assert_empty env
    assert_empty SocketActivation.redirects
  end

  private

  # Runs Ruby source with two sockets, from 3 on.
  def run_with_two(program)
    servers = Array.new(2) { TCPServer.new("127.0.0.1", 0) }
    fds = { 3 => servers.first, 4 => servers.last }
    Open3.capture3(GIVEN, RbConfig.ruby, "-w", "-Ilib", "-e", program, fds)
  ensure
    servers&.each(&:close)
  end
end
