# frozen_string_literal: true

require "test_helper"
require "socket"

# skep-listen opens a port for the command that it becomes.
class ListenTest < Skep::TestCase
  PROGRAM = File.expand_path("../exe/skep-listen", __dir__)
  # Answers one connection at the socket that it was given, and prints its address first.
  SERVER = <<~RUBY
    require "socket"
    ENV["LISTEN_PID"] == Process.pid.to_s && ENV["LISTEN_FDS"] == "1" or abort "wrong words"
    server = TCPServer.for_fd(3)
    puts server.addr.values_at(3, 1).join(" ")
    $stdout.flush
    server.accept.puts("hello")
  RUBY
  private_constant :PROGRAM, :SERVER

  test "the command has the port as descriptor 3, and the words of systemd" do
    port = TCPServer.open("127.0.0.1", 0) { |server| server.addr[1] }
    [port.to_s, "127.0.0.1:#{port}"].each do |address|
      IO.popen([RbConfig.ruby, PROGRAM, address, RbConfig.ruby, "-e", SERVER]) do |output|
        host, number = output.gets.split
        assert_equal port, number.to_i
        assert_equal "127.0.0.1", host if address.include?(":")
        TCPSocket.open("127.0.0.1", port) do |socket|
          socket.write("x") # a connection that has sent nothing isn't passed on
          assert_equal "hello\n", socket.gets
        end
      end
    end
  end

  test "without a port or a command it says how to call it" do
    [[], ["9292"], %w[none true], ["9292x", "true"]].each do |arguments|
      _, err, status = run_command({}, RbConfig.ruby, PROGRAM, *arguments, timeout: 20)
      assert_equal 64, status.exitstatus
      assert_equal "usage: skep-listen [HOST:]PORT COMMAND [ARGUMENT...]\n", err
    end
  end

  test "a port that is taken, and a command that isn't there, are one sentence" do
    TCPServer.open("127.0.0.1", 0) do |server|
      address = "127.0.0.1:#{server.addr[1]}"
      _, err, status = run_command({}, RbConfig.ruby, PROGRAM, address, "true", timeout: 20)
      assert_equal 78, status.exitstatus
      assert_match(/\Askep-listen: can't listen at #{address}: .*\n\z/, err)
    end
    _, err, status = run_command({}, RbConfig.ruby, PROGRAM, "127.0.0.1:0", "no-such-command",
                                 timeout: 20)
    assert_equal 127, status.exitstatus
    assert_match(/\Askep-listen: can't run no-such-command: /, err)
  end
end
