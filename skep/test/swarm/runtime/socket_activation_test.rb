# frozen_string_literal: true

require "open3"
require "socket"
require "test_helper"
require "skep/swarm"

class SocketActivationTest < Skep::TestCase
  SocketActivation = Skep::Swarm::Runtime::SocketActivation
  private_constant :SocketActivation
  GIVEN = { "LISTEN_FDS" => "2", "LISTEN_FDNAMES" => "http:admin" }.freeze

  test "takes the sockets passed to this process, and clears its environment" do
    program = <<~'RUBY'
      require "skep/swarm"
      sockets = Skep::Swarm::Runtime::SocketActivation
      ENV["LISTEN_PID"] = Process.pid.to_s
      sockets.take
      left = ENV.keys.grep(/\ALISTEN/)
      puts sockets.redirects.keys.inspect, left.inspect, sockets.ios.map(&:close_on_exec?).inspect
      sockets.announce
      variables = ENV.values_at("LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID")
      puts variables == ["2", "http:admin", Process.pid.to_s]
    RUBY
    out, = run_with_two(program)

    assert_equal "[3, 4]\n[]\n[true, true]\ntrue\n", out
  end

  test "leaves sockets passed to another process, and forgets those of another swarm" do
    env = { **GIVEN, "LISTEN_PID" => "1", "SKEP_LISTEN_FDS" => "3", "SKEP_LISTEN_FDNAMES" => "a" }
    SocketActivation.take(env)

    assert_equal({ **GIVEN, "LISTEN_PID" => "1" }, env.compact)
    assert_equal 0, SocketActivation.count(env)
  end

  test "announces the sockets to a node under the node's own pid" do
    env = { "SKEP_LISTEN_FDS" => "1", "LISTEN_PID" => "1" }
    SocketActivation.announce(env)

    assert_equal Process.pid.to_s, env["LISTEN_PID"]
  end

  test "announces nothing if there are no sockets" do
    env = {}
    SocketActivation.announce(env)

    assert_empty env
    assert_empty SocketActivation.redirects
  end

  private

  # Runs Ruby source with two sockets, at descriptors 3 and 4.
  def run_with_two(program)
    servers = Array.new(2) { TCPServer.new("127.0.0.1", 0) }
    fds = { 3 => servers.first, 4 => servers.last }
    Open3.capture3(GIVEN, RbConfig.ruby, "-w", "-r./load_path", "-e", program, fds)
  ensure
    servers&.each(&:close)
  end
end
